from . import checking as checking
from . import status as status
from . import words as words
from .checking import Checkup as Checkup
from .jobs import Job as Job
from .jobs import Jobs as Jobs
from .status import Status as Status

__all__ = [
    "Checkup",
    "Job",
    "Jobs",
    "Status",
    "checking",
    "status",
    "words",
]
