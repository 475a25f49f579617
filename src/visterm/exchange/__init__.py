"""Labels in and out: readers, writers, and metadata inside picture files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
