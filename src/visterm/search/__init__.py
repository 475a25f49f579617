"""From a few words to pictures: the query language, what people wrote, calibrated beliefs and the index."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
