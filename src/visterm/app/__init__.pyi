from .adding import Addition as Addition
from .adding import Attached as Attached
from .adding import Removal as Removal
from .backups import BackedUp as BackedUp
from .backups import Restored as Restored
from .checking import Checkup as Checkup
from .choosing import Training as Training
from .document import Document as Document
from .exporting import Exported as Exported
from .features import Computed as Computed
from .features import Recipes as Recipes
from .history import History as History
from .history import Undoing as Undoing
from .labelling import Labelled as Labelled
from .labelling import NewNameError as NewNameError
from .naming import Edit as Edit
from .naming import Merges as Merges
from .naming import Vocabulary as Vocabulary
from .reports import Report as Report
from .reports import Reports as Reports
from .searching import Findings as Findings
from .searching import Found as Found
from .showing import Drawing as Drawing
from .similar import Lookalikes as Lookalikes
from .status import Status as Status
from .suggesting import Suggestions as Suggestions
from .training import Evaluation as Evaluation
from .training import Methods as Methods
from .training import Models as Models
from .training import TrainedModel as TrainedModel
from .workspace import Workspace as Workspace

__all__ = [
    "Addition",
    "Attached",
    "BackedUp",
    "Checkup",
    "Computed",
    "Document",
    "Drawing",
    "Edit",
    "Evaluation",
    "Exported",
    "Findings",
    "Found",
    "History",
    "Labelled",
    "Lookalikes",
    "Merges",
    "Methods",
    "Models",
    "NewNameError",
    "Recipes",
    "Removal",
    "Report",
    "Reports",
    "Restored",
    "Status",
    "Suggestions",
    "TrainedModel",
    "Training",
    "Undoing",
    "Vocabulary",
    "Workspace",
]
