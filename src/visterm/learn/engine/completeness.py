"""What people leave unsaid: how much of the truth is written of a picture, and what it probably shows as well.

Learning and calibration ask here, once for all methods. A picture of which only a part is written is no counterexample
of the other tags: before any annotator learns, it gets the tags that are likelier than not (:func:`completed`). Scores
become probabilities of what is true, not of what is written (``Dataset.shares``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from visterm.calibration import TagProbabilities, Written, share_written
from visterm.catalogue.acts import Extent
from visterm.compute import memory
from visterm.compute.parallel import split
from visterm.contracts import Features, is_several
from visterm.learn.engine.dataset import ENOUGH, Dataset
from visterm.margin import Ridge
from visterm.subspace import reduced, sample

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]

#: The ridges tried, in multiples of the mean eigenvalue of the pictures' covariance.
_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
#: The share is estimated from at most this many pictures, and this many of the most frequent tags.
_MOST_PICTURES, _MOST_TAGS = 2000, 300
#: And whether a claim is true from so many pictures.
_MOST_CLAIMING = 800
#: What is likely of pictures is learned from this many numbers at most, pictures times tags: of the most frequent tags,
#: and of at least so many pictures.
_MOST_NUMBERS, _FEWEST_LEARNED = 2**22, 2000
#: The memory of such a number, with what is computed of it.
_BYTES = 100
#: Probabilities computed at a time.
_BLOCK = 2**22
#: A tag of a picture is added if it is at least so probable.
_LIKELY = 0.5
#: No picture has so little written of it.
_LEAST_SHARE = 0.02
#: So often is what is unknown guessed from the rest, and learned again.
_ROUNDS = 10
#: The share of a picture with a part of its tags is below 1, however few other tags are likely.
_MOST_SHARE = 0.95


def with_shares(data: Dataset) -> Dataset:
    """The data with the estimated share of each picture's true tags that is written; all 1 if nobody left any out.

    Where enough pictures are described completely, what these teach tells how much is missing elsewhere. Otherwise, the
    share is that at which the probability of being written levels off (:func:`~visterm.calibration.share_written`).
    """
    if data.extent is None or not data.has_tags.any():
        return data
    tagged = np.flatnonzero(data.has_tags)
    open_ = tagged[data.extent[tagged] == Extent.PART]
    whole = np.setdiff1d(tagged, open_)
    shares = np.ones(len(data))
    claimed = len(whole) > len(open_) or len(whole) >= ENOUGH
    base, most = (whole, _MOST_CLAIMING) if claimed else (tagged, _MOST_PICTURES)
    base = base[sample(len(base), most)] if len(base) > most else base
    some = _frequent(data.tags[base])
    if not len(some) or len(base) < ENOUGH:
        shares[open_] = _MOST_SHARE
        return replace(data, shares=shares)
    if claimed and not len(open_):  # a look at some of the pictures
        of_base = data.select(base)
        left_out = _fit(reduced(_roots(of_base.X)), np.arange(len(base)), of_base.tags[:, some]).left_out
        if share_written(left_out, of_base.tags[:, some], claimed=True) == 1:
            return replace(data, shares=shares)
    Z = reduced(_roots(data.X))
    left_out = _fit(Z, base, data.tags[base][:, some]).left_out
    share = share_written(left_out, data.tags[base][:, some], claimed=claimed)
    if share < 1:
        shares[whole if claimed else tagged] = share
        open_ = tagged
    if len(open_):
        uniform = None if share == 1 else Written.by_picture(np.full(len(base), share), len(some))
        n_written = np.diff(data.tags[open_].indptr)
        n_true = [p.sum(axis=1) for _, p in _probable(Z, base, data.tags[base][:, some], open_, uniform)]
        of_picture = n_written / np.maximum(np.concatenate(n_true), n_written)
        if share < 1:  # pictures with more tags have more left out; on average, it is the share that was found
            of_picture = of_picture * (share / of_picture.mean())
        shares[open_] = np.clip(of_picture, _LEAST_SHARE, _MOST_SHARE)
    return replace(data, shares=shares)


def completed(data: Dataset) -> Dataset:
    """The data to learn from: pictures with only a part of their tags also get those that are likelier than not."""
    if data.shares is None:
        return data
    tagged = np.flatnonzero(data.has_tags)
    open_ = tagged[data.shares[tagged] < 1]
    if not len(open_):
        return data
    known = np.setdiff1d(tagged, open_)
    base = known if len(known) >= ENOUGH else tagged
    n_numbers = min(_MOST_NUMBERS, memory.left() // _BYTES)
    columns = _frequent(data.tags[base], n_numbers // min(len(base), _FEWEST_LEARNED))
    if not len(columns) or len(base) < ENOUGH:
        return data
    most = max(_FEWEST_LEARNED, n_numbers // len(columns))
    base = base[sample(len(base), most)] if len(base) > most else base
    Z, own = reduced(_roots(data.X)), data.written(base, columns)
    of_base = data.tags[base][:, columns]
    added = _added(data, _probable(Z, base, of_base, open_, own), open_, columns)
    if own is not None:  # what was added teaches once more
        more = sparse.csr_array((data.tags + added)[base][:, columns])
        added = _added(data, _probable(Z, base, more, open_, own, of_base), open_, columns)
    return replace(data, tags=sparse.csr_array(data.tags + added), shares=None, extent=None)


def _added(
    data: Dataset, probable: Iterator[tuple[slice, NDArray[np.float32]]], rows: Integers, columns: Integers
) -> sparse.csr_array:
    """The likely tags of ``rows`` that nobody wrote or denied, as large as ``data.tags``; none that is loose."""
    likely = [sparse.csr_array((p >= _LIKELY) & ~data.is_loose[columns]) for _, p in probable]
    own, tags = sparse.vstack(likely).nonzero()
    at = (rows[own], columns[tags])
    added = sparse.csr_array((np.ones(len(own), data.tags.dtype), at), shape=data.tags.shape)
    for said in (data.tags, data.denied):
        if said is not None:
            added = added - added.multiply(said)
    added = sparse.csr_array(added)
    added.eliminate_zeros()
    return added


class _Head(NamedTuple):
    weights: Floats
    left_out: NDArray[np.float32]


def _fit(Z: NDArray[np.float32], rows: Integers, tags: sparse.csr_array, written: Written | None = None) -> _Head:
    """A ridge regression of tags; what it says of each of ``rows`` without their own tags.

    Pairs of which nothing is known, with a share of 0, teach nothing: their targets become what the others say of them.
    """
    A, targets = Z[rows].astype(np.float64), tags.toarray().astype(np.float64)
    unknown = None if written is None else written.shares == 0
    _, theta, left_out = Ridge.of_least_error(A, targets, _RIDGES)
    if unknown is not None and unknown.any():
        for _ in range(_ROUNDS):
            targets[unknown] = left_out[unknown]
            _, theta, left_out = Ridge.of_least_error(A, targets, _RIDGES)
    return _Head(A.T @ theta, left_out.astype(np.float32))


def _probable(
    Z: NDArray[np.float32],
    base: Integers,
    learned: sparse.csr_array,
    rows: Integers,
    written: Written | None,
    tags: sparse.csr_array | None = None,
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """The probabilities of tags of ``rows`` by what the ``learned`` tags of the pictures ``base`` teach, in blocks.

    Of pictures among ``base`` it is what the others teach. ``tags`` are those that were ``written`` (default: those
    learned).
    """
    head = _fit(Z, base, learned, written)
    given = learned if tags is None else tags
    counts = np.bincount(given.indices, minlength=given.shape[1])
    likely = TagProbabilities().fit(head.left_out, given, tag_counts=counts, n_tagged=len(base), written=written)
    weights = head.weights.astype(np.float32)
    for shard in split(len(rows), size=max(1, _BLOCK // given.shape[1])):
        some = rows[shard.rows]
        scores = (Z[some] @ weights).astype(np.float32)
        place = np.searchsorted(base, some)
        among = (place < len(base)) & (base[np.minimum(place, len(base) - 1)] == some)
        scores[among] = head.left_out[place[among]]
        yield shard.rows, np.asarray(expit(likely.log_odds(scores)), np.float32)


def _frequent(tags: sparse.csr_array, most: int = _MOST_TAGS) -> Integers:
    """The most frequent tags, of those that two pictures have."""
    counts = np.bincount(tags.indices, minlength=tags.shape[1])
    return np.sort(np.argsort(-counts, kind="stable")[: min(most, int((counts > 1).sum()))])


def _roots(X: Features) -> Features:
    """Features to compare; of bags of codewords, the roots of the counts."""
    if is_several(X):
        return {name: _roots(part) for name, part in X.items()}
    return X.sqrt() if isinstance(X, sparse.csr_array) else X
