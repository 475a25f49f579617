"""What every method promises: the shapes, the words and the checks shared by all estimators."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
