"""Why a model thinks that a picture matches: similar tagged pictures, and the parts of the picture that count."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.calibration import together
from visterm.catalogue.truth import Truth
from visterm.collection.features import stored_features
from visterm.collection.holdings import Holdings
from visterm.collection.reasons import Regions
from visterm.collection.rows import PictureRow, rows_of
from visterm.collection.scores import relevance_of
from visterm.contracts import Features, Task, is_several, word_scores
from visterm.documents.document import Document
from visterm.documents.wording import percent
from visterm.errors import InputError, MissingExtraError, PictureError
from visterm.find.rank.beliefs import Floats
from visterm.find.regions import N_VERSIONS, regions_of
from visterm.find.similar import cosines
from visterm.language import places_of_names, word_key
from visterm.models import Model
from visterm.vision.decode import decode_rgb

#: A picture is compared with at most this many of the pictures that people tagged with a word.
_MOST_COMPARED = 500
#: This many dimensions of the features are named.
_N_PARTS = 3
#: Regions are examined in at most this many pictures, and in fewer if that takes more than this many CPU seconds.
_MOST_LOOKED_AT, _MOST_SECONDS = 5, 30.0


@dataclass(frozen=True)
class Why(Document):
    """The reasons for a tag: ``shares`` of a grid of cells, rows from top to bottom; empty if no part decides alone.

    ``where`` says it in words. ``reminds_of`` is the picture that this one reminds the model of, with its likeness as
    ``score``; None if there is none.
    """

    word: str
    model: str
    shares: list[list[float]]
    where: str | None
    reminds_of: PictureRow | None


def why(holdings: Holdings, key: str, word: str) -> Why:
    """Why the model for tags suggests ``word`` for the picture with this content."""
    model = holdings.shelf.model(Task.ANNOTATE)
    collection = holdings.collection()
    path = dict(zip(collection.frame.sha256, collection.frame.paths, strict=True)).get(key)
    if path is None:
        raise InputError("the file of this picture is missing")
    names = collection.frame.current_names("tag", model.info.tags)
    if word not in names:
        raise InputError(f"the model {model.info.reference} does not know the tag {word!r}")
    witnesses = Witnesses(holdings, model, collection.truth, names)
    asked = word_key(word)
    (regions,) = witnesses.regions([(path, [asked])])
    counts = regions is not None and regions.any_counts
    alike = witnesses.lookalike(key, asked)
    return Why(
        word,
        model.info.reference,
        [list(row) for row in regions.shares] if regions is not None and counts else [],
        None if regions is None else str(regions),
        None if alike is None else _reminder(holdings, int(collection.truth.ids[alike.row]), alike.likeness),
    )


def _reminder(holdings: Holdings, number: int, likeness: float) -> PictureRow | None:
    found = rows_of(holdings, [number])
    return replace(found[0], score=round(likeness, 4)) if found else None


class _Alike(NamedTuple):
    """The row of a picture in the truth, and how alike it is."""

    row: int
    likeness: float


class Witnesses:
    """Explains, for single pictures, why they match the words of a query.

    ``names`` are the current names of the model's tags.
    """

    def __init__(self, holdings: Holdings, model: Model, truth: Truth, names: Sequence[str]) -> None:
        self._holdings, self._model, self._truth = holdings, model, truth
        self._column = {key: places[-1] for key, places in places_of_names(names).items()}

    def of(self, sha256: str, words: Sequence[str]) -> tuple[str, ...]:
        """One line each: the most similar picture that people tagged with the word, and the features that count."""
        x = self._features(sha256)
        if x is None:
            return ()
        words_of: dict[_Alike, list[str]] = {}
        for word in words:
            if (found := self._lookalike(x, sha256, word)) is not None:
                words_of.setdefault(found, []).append(word)
        lines = (
            f"looks like {self._truth.paths[found.row]} ({percent(found.likeness)} alike), "
            f"which people tagged {' and '.join(shared)}"
            for found, shared in words_of.items()
        )
        return (*lines, *self._parts(x, words))

    def lookalike(self, sha256: str, word: str) -> _Alike | None:
        """The most similar picture that people tagged with ``word``; None if there is none to compare with."""
        x = self._features(sha256)
        return None if x is None else self._lookalike(x, sha256, word)

    def _features(self, sha256: str) -> Features | None:
        """The features of a picture; None if nobody has looked at it."""
        if self._holdings.library.missing(self._model.recipe, [sha256]):
            return None
        return stored_features(self._holdings, self._model.recipe, [sha256])

    def regions(self, found: Sequence[tuple[str, Sequence[str]]]) -> list[Regions | None]:
        """For each (path, words), the regions of the picture that count for the words.

        None for pictures after the first few, for unreadable pictures, and if the model knows none of the words.
        """
        recipe = self._model.recipe
        most = max(1, min(_MOST_LOOKED_AT, int(_MOST_SECONDS / (N_VERSIONS * recipe.seconds_per_picture))))
        told: list[Regions | None] = [None] * len(found)
        places: list[int] = []
        columns: list[list[int]] = []
        pictures: list[NDArray[np.uint8]] = []
        for place, (path, words) in enumerate(found):
            known = [self._column[word] for word in words if word in self._column]
            if known and len(places) < most:
                with suppress(PictureError, OSError):
                    pictures.append(decode_rgb(self._holdings.folder / path, pixel_budget=recipe.pixel_budget))
                    places.append(place)
                    columns.append(known)

        def believe(i: int, X: Features) -> Floats:
            scores = word_scores(self._model.estimator, X)
            relevance = relevance_of(self._model, scores)
            return together(list(relevance.log_probabilities(scores)[:, columns[i]].T), relevance.dependence_)

        with suppress(MissingExtraError):  # features are stored, but the package that computes them is not installed
            for place, regions in zip(places, regions_of(recipe, pictures, believe), strict=True):
                told[place] = regions
        return told

    def _lookalike(self, x: Features, sha256: str, word: str) -> _Alike | None:
        truth = self._truth
        columns = places_of_names(truth.tag_names).get(word, [])
        told = np.flatnonzero(np.asarray(truth.tags[:, columns].sum(axis=1)).ravel())
        keys = [truth.sha256[row] for row in told if truth.paths[row] is not None and truth.sha256[row] != sha256]
        without = self._holdings.library.missing(self._model.recipe, keys)
        keys = [other for other in keys if other not in without][:_MOST_COMPARED]
        if not keys or is_several(x):
            return None
        alike = cosines(x, stored_features(self._holdings, self._model.recipe, keys))[0]
        return _Alike(truth.sha256.index(keys[int(np.argmax(alike))]), float(alike.max()))

    def _parts(self, x: Features, words: Sequence[str]) -> list[str]:
        """The dimensions (codewords of a bag) that count most, if the model can explain itself."""
        explain = getattr(self._model.estimator, "explain", None)
        columns = [self._column[word] for word in words if word in self._column]
        if explain is None or not columns:
            return []
        q = sparse.csr_array(
            (np.full(len(columns), len(columns) ** -0.5), (np.zeros(len(columns), int), columns)),
            shape=(1, len(self._model.info.tags)),
        )
        explanation = explain(x, q, _N_PARTS)
        if explanation.evidence_kind != "dimension":
            return []
        parts = ", ".join(f"{number} ({part:+.2g})" for number, part in explanation.evidence)
        return [f"counts for it: codewords {parts}"] if parts else []
