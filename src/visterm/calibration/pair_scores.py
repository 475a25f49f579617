"""How well a text fits a picture by an image-text pair alone, with no label to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError

Floats = NDArray[np.float32]

#: The mean of the pictures counts half where there are this many.
_FEW_FOR_MEAN = 10


class PairScores:
    """Turns the vectors of a pair into scores that can be compared between texts, and between collections.

    The cosine of a text and a picture is high for some texts with every picture, and for some pictures with every text:
    vectors of texts lie around one direction, those of pictures around another. So these are taken away:

        score(q, p) = <q - mean text / 2, p - mean picture> / spread

    Half of the mean text: what pictures share with texts in general is partly what can be seen in them.

    The mean text is that of ``usual_texts`` (n, n_dims), texts that have nothing to do with the collection; the mean
    picture is that of ``pictures`` (n_pictures, n_dims), those of the collection. The spread is that of the scores of
    usual texts. So a text has 0 on average over the pictures, and 3 is much more than most texts have with a picture.
    The scores are not probabilities. They grow with the fit, so a sigmoid can be fitted to them where there are labels.

    Reference: Y. Zhou et al., Test-time distribution normalization for contrastively learned vision-language models,
    NeurIPS 2023, which derives the half.

    >>> texts = np.array([[1, 0.1, 0], [0, 0.1, 1]], np.float32)
    >>> scores = PairScores(pictures := np.array([[0.9, 0, 0.5], [0.5, 0, 0.9]], np.float32), usual_texts=texts)
    >>> scores.of(texts, pictures).round(1)
    array([[1.4, 0.3],
           [0.3, 1.4]], dtype=float32)
    """

    def __init__(self, pictures: Any, usual_texts: Any) -> None:
        seen, usual = _vectors(pictures), _vectors(usual_texts)
        if seen.shape[1] != usual.shape[1]:
            raise InputError(f"pictures have {seen.shape[1]} numbers, but texts have {usual.shape[1]}: use one pair")
        self.shared = usual.mean(axis=0) / 2
        trust = len(seen) / (len(seen) + _FEW_FOR_MEAN)
        self.mean_picture = trust * seen.mean(axis=0) if len(seen) else np.zeros_like(self.shared)
        # The mean square of all products, from one small matrix instead of all products.
        centred = seen - self.mean_picture
        second_moment = centred.T @ centred / max(1, len(seen))
        texts = usual - self.shared
        self.spread = float(np.sqrt(max(1e-12, np.einsum("ij,jk,ik->", texts, second_moment, texts) / len(texts))))

    def of(self, texts: Any, pictures: Any) -> Floats:
        """(n_texts, n_pictures), larger is better; a text that says nothing (its vector is zero) has 0 everywhere."""
        asked = _vectors(texts)
        directions = np.where(asked.any(axis=1, keepdims=True), asked - self.shared, 0) / self.spread
        return np.asarray(directions @ (_vectors(pictures) - self.mean_picture).T, np.float32)


def _vectors(rows: Any) -> Floats:
    found = np.asarray(rows, np.float32)
    if found.ndim != 2:
        raise InputError(f"vectors are rows of a matrix, not an array of shape {found.shape}")
    return found
