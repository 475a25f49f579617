"""Review: the questions that teach most, likely errors, groups of look-alikes, and heads that learn meanwhile."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
