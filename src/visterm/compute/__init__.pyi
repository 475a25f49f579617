from . import device as device
from . import memory as memory
from . import progress as progress
from .addressed import AddressedRows as AddressedRows
from .device import Device as Device
from .device import choose_device as choose_device
from .halves import singles as singles
from .parallel import BACKENDS as BACKENDS
from .parallel import Engine as Engine
from .parallel import Shard as Shard
from .parallel import map_shards as map_shards
from .parallel import split as split
from .parallel import sum_shards as sum_shards
from .progress import Bar as Bar
from .progress import Bars as Bars
from .progress import Display as Display
from .progress import JsonLines as JsonLines
from .progress import Silent as Silent
from .threads import blas_threads_for as blas_threads_for
from .threads import in_threads as in_threads
from .threads import n_cores as n_cores
from .threads import one_blas_thread as one_blas_thread

__all__ = [
    "BACKENDS",
    "AddressedRows",
    "Bar",
    "Bars",
    "Device",
    "Display",
    "Engine",
    "JsonLines",
    "Shard",
    "Silent",
    "blas_threads_for",
    "choose_device",
    "device",
    "in_threads",
    "map_shards",
    "memory",
    "n_cores",
    "one_blas_thread",
    "progress",
    "singles",
    "split",
    "sum_shards",
]
