"""How loops that NumPy cannot express are compiled. Only files of such loops import this, for it imports numba.

numba compiles a function again when the function's own file has changed, not when this one has: after a change here,
delete ``__pycache__``.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar, overload

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

#: Sums may be added up in any order, which vectorises them; values are never NaN.
SUMS = frozenset({"reassoc", "nsz", "contract"})


@overload
def compiled(function: Function) -> Function: ...
@overload
def compiled(*, fastmath: AbstractSet[str]) -> Callable[[Function], Function]: ...
def compiled(function: Any = None, *, fastmath: AbstractSet[str] = frozenset()) -> Any:
    """Compile a function. It runs without the interpreter's lock and is kept on disk.

    Divisions do not check for zero, so that loops can be vectorised. ``fastmath`` names liberties with floating point.
    """
    # Named, even an empty set would make numba compile its own functions once more.
    options: dict[str, Any] = {"fastmath": set(fastmath)} if fastmath else {}
    return njit(function, nogil=True, cache=True, error_model="numpy", **options)
