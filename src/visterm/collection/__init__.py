"""The collection at one moment: what people said of each picture, and what the models in use believe of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
