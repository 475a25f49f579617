from .catalogue import Catalogue as Catalogue
from .history import Action as Action
from .history import Change as Change
from .history import History as History
from .identity import WithoutFile as WithoutFile
from .inventory import Counts as Counts
from .labels import KINDS as KINDS
from .labels import Kind as Kind
from .labels import LabelRow as LabelRow
from .labels import State as State
from .labels import clean_name as clean_name
from .pictures import Examined as Examined
from .pictures import Label as Label
from .pictures import Picture as Picture
from .records import IMPORT as IMPORT
from .records import PERSON as PERSON
from .records import Reading as Reading
from .records import Record as Record
from .records import Region as Region
from .records import Skipped as Skipped
from .records import model_source as model_source
from .scan import AddReport as AddReport
from .scan import add_folder as add_folder
from .scan import examine as examine
from .scan import find_pictures as find_pictures
from .schema import snapshot as snapshot
from .truth import Truth as Truth
from .twins import Verdict as Verdict
from .vocabulary import TermUse as TermUse

__all__ = [
    "IMPORT",
    "KINDS",
    "PERSON",
    "Action",
    "AddReport",
    "Catalogue",
    "Change",
    "Counts",
    "Examined",
    "History",
    "Kind",
    "Label",
    "LabelRow",
    "Picture",
    "Reading",
    "Record",
    "Region",
    "Skipped",
    "State",
    "TermUse",
    "Truth",
    "Verdict",
    "WithoutFile",
    "add_folder",
    "clean_name",
    "examine",
    "find_pictures",
    "model_source",
    "snapshot",
]
