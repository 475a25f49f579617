"""Learning from labelled pictures: the data set, the choice of a method, training, what was measured."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
