"""Methods compared with each other and with the papers' figures: comparisons, significance, experiments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
