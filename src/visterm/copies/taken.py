"""When pictures were taken, for those that were taken in a series."""

import math
from datetime import datetime

_ORIGIN = datetime(1970, 1, 1)


def seconds_of(taken: str | None) -> float:
    """A local time of the catalogue in seconds, by the camera's clock; NaN where it has no hours and minutes.

    >>> seconds_of("1970-01-02T00:00:01.5"), seconds_of("2019-07")
    (86401.5, nan)
    """
    if taken is None or "T" not in taken:
        return math.nan
    return (datetime.fromisoformat(taken).replace(tzinfo=None) - _ORIGIN).total_seconds()
