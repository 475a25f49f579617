"""The errors Visterm raises on purpose: each says what was wrong, where, and what to do."""

import errno


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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that there is too little memory; libraries that cannot be loaded say it in words."""
    if isinstance(error, ImportError):
        return "failed to map segment" in str(error) or "allocate memory" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


#: What a person reads then.
OUT_OF_MEMORY = "there is not enough memory for this: close other programs or use fewer pictures; nothing is damaged"


class MissingExtraError(VistermError, ImportError):
    """A package is needed; the message names the extra that installs it, or (None) says to install the package."""

    def __init__(self, package: str, extra: str | None, purpose: str) -> None:
        wanted = package if extra is None else f"'visterm[{extra}]'"
        super().__init__(f"{purpose} needs {package}, which is not installed. Run: pip install {wanted}")
