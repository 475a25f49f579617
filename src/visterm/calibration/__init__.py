"""From scores to their meaning: temperatures for classes; sigmoids, comparable scales and probabilities for tags.

Everything here is fitted to scores of pictures that the scoring function had not seen, never to its training scores.
Two conventions hold everywhere: a temperature T divides, ``softmax(scores / T)``; a sigmoid is a slope and an offset,
``1 / (1 + exp(-(slope * score + offset)))``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
