"""The errors Visterm raises on purpose: each says what was wrong, where, and what to do."""

import errno
from mmap import mmap


class VistermError(Exception):
    """Visterm refuses or cannot do something; the command line prints one line and exits with 1."""


class InputError(VistermError, ValueError):
    """Data handed to Visterm is not usable: wrong shape, wrong type, wrong value, a malformed file."""


class UsageError(InputError):
    """Visterm was asked wrongly, whatever the data: an unknown name of a method or format, a query that cannot be read.

    The command line exits with 2.
    """


class PictureError(InputError):
    """A file cannot be used as a picture: truncated, not a picture, too many pixels."""


class ModelError(InputError):
    """A model cannot be used: its files are damaged, or it fails; another model may be used instead.

    ``model`` is its reference, such as ``knn@2``, where that is known.
    """

    def __init__(self, message: str, model: str | None = None) -> None:
        super().__init__(message)
        self.model = model


#: How libraries that cannot be loaded, or begin to work, say that they get no memory.
_SIGNS = ("failed to map segment", "allocate memory", "bad_alloc")
#: A command needs more than this. Where so much cannot be had, memory is short.
_NEEDED_BYTES = 2**28


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether ``error``, or one that it came from, says that there is too little memory."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        # such an error has no number; one of ours, or of the system, may have such words in the name of a file
        is_of_library = not isinstance(error, VistermError) and getattr(error, "errno", None) is None
        if is_of_library and any(sign in str(error) for sign in _SIGNS):
            return True
        # the interpreter, or a library in Rust, went on with what it did not get
        if (isinstance(error, SystemError) or type(error).__name__ == "PanicException") and _is_memory_short():
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_memory_short() -> bool:
    try:
        mmap(-1, _NEEDED_BYTES).close()
    except (OSError, MemoryError):
        return True
    return False


#: What a person reads then.
OUT_OF_MEMORY = "there is not enough memory for this: close other programs or use fewer pictures; nothing is damaged"


class MissingExtraError(VistermError, ImportError):
    """A package is needed; the message names the extra that installs it, or (None) says to install the package."""

    def __init__(self, package: str, extra: str | None, purpose: str) -> None:
        wanted = package if extra is None else f"'visterm[{extra}]'"
        super().__init__(f"{purpose} needs {package}, which is not installed. Run: pip install {wanted}")
        self._said = package, extra, purpose

    def __reduce__(self) -> tuple[type, tuple[str, str | None, str]]:
        """It may come from another process."""
        return type(self), self._said
