"""What models said of every picture, kept by content hash: one column a word."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
