"""The papers' experiments and the readers of their public data; no user of a collection needs it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
