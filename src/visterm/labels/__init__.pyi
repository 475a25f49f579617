from . import adding as adding
from . import backups as backups
from . import deciding as deciding
from . import exporting as exporting
from . import history as history
from . import labelling as labelling
from . import naming as naming
from .adding import Addition as Addition
from .adding import Attached as Attached
from .adding import Removal as Removal
from .backups import BackedUp as BackedUp
from .backups import Restored as Restored
from .history import History as History
from .history import Undoing as Undoing
from .labelling import Labelled as Labelled
from .labelling import NewNameError as NewNameError
from .naming import Edit as Edit
from .naming import Merges as Merges
from .naming import Vocabulary as Vocabulary
from .statement import Statement as Statement

__all__ = [
    "Addition",
    "Attached",
    "BackedUp",
    "Edit",
    "History",
    "Labelled",
    "Merges",
    "NewNameError",
    "Removal",
    "Restored",
    "Statement",
    "Undoing",
    "Vocabulary",
    "adding",
    "backups",
    "deciding",
    "exporting",
    "history",
    "labelling",
    "naming",
]
