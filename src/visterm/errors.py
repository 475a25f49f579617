"""The errors Visterm raises on purpose: each says what was wrong, where, and what to do."""


class VistermError(Exception):
    """Visterm refuses or cannot do something; the command line prints one line and exits with 1."""


class InputError(VistermError, ValueError):
    """Data handed to Visterm is not usable: wrong shape, wrong type, wrong value, a malformed file."""


class PictureError(InputError):
    """A file cannot be used as a picture: truncated, not a picture, too many pixels."""


class MissingExtraError(VistermError, ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}, which is not installed. Run: pip install 'visterm[{extra}]'")
