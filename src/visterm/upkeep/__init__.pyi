from . import checking as checking
from . import encoders as encoders
from . import status as status
from . import unlearned as unlearned
from . import words as words
from .checking import Checkup as Checkup
from .jobs import Job as Job
from .jobs import Jobs as Jobs
from .status import Status as Status
from .unlearned import Unlearned as Unlearned

__all__ = [
    "Checkup",
    "Job",
    "Jobs",
    "Status",
    "Unlearned",
    "checking",
    "encoders",
    "status",
    "unlearned",
    "words",
]
