"""The workspace and everything done with it; the command line and the page show what it answers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
