"""How much of the truth people wrote down: the share of the true tags that descriptions name, from scores alone.

Let a tag be true with probability ``sigma(l)``, where ``l`` rises with its score, and written with probability
``c sigma(l)`` (Elkan and Noto, KDD 2008: labels that are missing at random). However high the score, no more than the
share ``c`` of such pictures carry the tag: ``c`` is the height at which the probability of being written levels off.
It is found by maximum likelihood, with the terms that :class:`~visterm.calibration.TagProbabilities` gives ``l``. A tag
that a share ``f`` of the pictures carry is true of ``f / c`` of them: how often tags are true tells apart a tag that is
hard to see and one that is often left out.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.likelihood import fit_logistic, surprise
from visterm.calibration.tag_probabilities import TagProbabilities
from visterm.contracts import check_tags

#: The shares that are tried.
SHARES = np.array([1, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.12, 0.1, 0.07, 0.05])
#: The likelihood is that of about this many pairs of a picture and a tag.
_MAX_PAIRS = 150_000
#: The fit to a share ends when a step gains less than this share of the loss: some hundredths of a nat in all.
_SETTLED = 1e-6
#: Descriptions that claim to be complete are believed, unless they name at most this share of the tags, and all of
#: them are this much less likely (in nats). Captions and the annotations of Corel5K, which research takes for
#: complete, name .80 and .85; 30 % of the tags dropped from them at random leaves .5 and .6.
_BELIEVED, _CERTAIN = 0.5, 5.0
#: A claim is believed at once if it is likelier than these shares.
_AT_FIRST = np.array([1.0, 0.5, 0.3, 0.15])
#: What people call complete leaves some tags out, too. Probabilities are those of being in such a description.
_USUAL = 1.2
#: Before anything is seen, about this share is expected of tags that claim nothing: one of four or five. The logarithm
#: of the share has this deviation.
_EXPECTED, _DEVIATION = 0.22, 0.8


def share_written(scores: NDArray[np.floating[Any]], tags: Any, *, claimed: bool) -> float:
    """The share of the true tags that are among ``tags``, from (n_pictures, n_tags) scores by others' labels.

    If nothing is ``claimed``, it is the mean of what is likely, on a logarithmic scale. If the tags are ``claimed`` to
    be complete, it is 1 unless that is very unlikely.

    >>> rng = np.random.default_rng(0)
    >>> true = rng.random((400, 6)) < 0.3
    >>> scores = 6 * true + rng.standard_normal((400, 6))
    >>> round(share_written(scores, true, claimed=True), 1)
    1.0
    >>> written = true & (rng.random(true.shape) < 0.3)
    >>> 0.3 < share_written(scores, written, claimed=False) < 0.5  # of what is in usual descriptions
    True
    """
    present = check_tags(tags, len(scores), n_tags=scores.shape[1]).toarray() > 0
    if claimed and not profile(scores, present, _AT_FIRST).argmin():
        return 1.0
    lost = profile(scores, present)
    if claimed and (lost[0] < _CERTAIN or SHARES[lost.argmin()] > _BELIEVED):
        return 1.0
    unexpected = (np.log(SHARES / _EXPECTED) / _DEVIATION) ** 2 / 2
    likely = np.exp(lost.min() - lost - unexpected) * np.gradient(-np.log(SHARES))
    found = float(np.exp(np.average(np.log(SHARES), weights=likely)))
    return min(1.0, _USUAL * found)


def profile(
    scores: NDArray[np.floating[Any]], present: NDArray[np.bool_], tried: NDArray[np.float64] = SHARES
) -> NDArray[np.float64]:
    """For each of the shares ``tried``, by how many nats the tags are less likely than with the best share."""
    n_pictures, n_tags = scores.shape
    n_rows = min(n_pictures, max(2, _MAX_PAIRS // n_tags))
    rows = np.sort(np.random.default_rng(0).choice(n_pictures, n_rows, replace=False))
    y, counts, values = present[rows], present.sum(axis=0), []
    for share in tried:
        show = np.minimum(counts / share, n_pictures)  # so many pictures show each tag
        terms = TagProbabilities.terms(scores, show, n_pictures, rows)
        A = np.stack([term.ravel() for term in terms], axis=1)
        shares = np.full((n_rows, 1), share)
        w = fit_logistic(terms, y, n_free=2, shares=shares, settled=_SETTLED)
        values.append(surprise(A, y.ravel(), w, np.broadcast_to(shares, y.shape).ravel())[0])
    return (np.array(values) - min(values)) * n_pictures * n_tags
