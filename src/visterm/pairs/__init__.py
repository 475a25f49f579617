"""Image-text pairs that a person has installed: a network for pictures and one for texts, made together."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
