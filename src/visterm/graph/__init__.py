"""Graphs of similar pictures: models that are smooth over them, and tags that spread along them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
