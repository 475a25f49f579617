"""The command line and the page: they parse and show."""

__all__: list[str] = []
