"""Small codes of pictures: linear subspaces of their features, learned with the help of tags."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
