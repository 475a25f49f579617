"""Care of a workspace: checks, counts, jobs, word vectors, image-text pairs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
