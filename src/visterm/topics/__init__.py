"""Topic models: pictures as mixtures of topics, topics as distributions over codewords and tags."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
