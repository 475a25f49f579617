"""The data set, its splits, and one way to fit, score, measure and train every method."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
