"""Finding pictures: by words, by look, by what narrows a list down; and why they were found."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
