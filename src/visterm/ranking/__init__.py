"""Finding pictures by a few words: rankers, queries made from captions, and kernels between local descriptors."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
