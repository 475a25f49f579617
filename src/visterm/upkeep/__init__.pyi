from .checking import Checkup as Checkup
from .jobs import Job as Job
from .jobs import Jobs as Jobs
from .status import Status as Status

__all__ = [
    "Checkup",
    "Job",
    "Jobs",
    "Status",
]
