from .array_file import ArrayFile as ArrayFile
from .array_file import damaged as damaged
from .array_folder import ArrayFolder as ArrayFolder
from .atomic import TEMPORARY_PATTERN as TEMPORARY_PATTERN
from .atomic import clear_leftovers as clear_leftovers
from .atomic import creating_folder as creating_folder
from .atomic import replacing as replacing
from .atomic import write_bytes_atomically as write_bytes_atomically
from .atomic import write_error as write_error
from .atomic import write_text_atomically as write_text_atomically
from .files import STATE as STATE
from .files import is_there as is_there
from .files import make_folder as make_folder
from .files import open_new as open_new
from .files import user_folder as user_folder
from .lock import BusyError as BusyError
from .lock import WriteLock as WriteLock
from .row_files import DenseRows as DenseRows
from .row_files import MappedRows as MappedRows
from .row_files import RowSpec as RowSpec
from .row_files import cut as cut
from .row_files import row_files as row_files
from .row_files import stored_dtype as stored_dtype

__all__ = [
    "STATE",
    "TEMPORARY_PATTERN",
    "ArrayFile",
    "ArrayFolder",
    "BusyError",
    "DenseRows",
    "MappedRows",
    "RowSpec",
    "WriteLock",
    "clear_leftovers",
    "creating_folder",
    "cut",
    "damaged",
    "is_there",
    "make_folder",
    "open_new",
    "replacing",
    "row_files",
    "stored_dtype",
    "user_folder",
    "write_bytes_atomically",
    "write_error",
    "write_text_atomically",
]
