"""Why a model thinks that a picture matches: similar tagged pictures, and the parts of the picture that count."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.app.features import stored_features
from visterm.app.regions import N_VERSIONS, Regions, regions_of
from visterm.app.similar import cosines
from visterm.app.wording import percent
from visterm.catalogue.truth import Truth
from visterm.contracts import Features, is_several
from visterm.errors import MissingExtraError, PictureError
from visterm.language import places_of_names
from visterm.learning import word_scores
from visterm.models import Model
from visterm.search.beliefs import Floats, together
from visterm.search.relevance import relevance_of
from visterm.vision.decode import decode_rgb

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

#: A picture is compared with at most this many of the pictures that people tagged with a word.
_MOST_COMPARED = 500
#: This many dimensions of the features are named.
_N_PARTS = 3
#: Regions are examined in at most this many pictures, and in fewer if that takes more than this many CPU seconds.
_MOST_LOOKED_AT, _MOST_SECONDS = 5, 30.0


@dataclass(frozen=True)
class Lookalike:
    """The picture that people tagged with a word and that is most like another; ``likeness`` is 1 for the same."""

    id: int
    path: str
    likeness: float

    def in_words(self, words: Sequence[str]) -> str:
        """What a person reads of it.

        >>> Lookalike(3, "0005.jpg", 0.834).in_words(["boat", "sea"])
        'looks like 0005.jpg (83% alike), which people tagged boat and sea'
        """
        return f"looks like {self.path} ({percent(self.likeness)} alike), which people tagged {' and '.join(words)}"


class Witnesses:
    """Explains, for single pictures, why they match the words of a query.

    ``names`` are the current names of the model's tags.
    """

    def __init__(self, workspace: Workspace, model: Model, truth: Truth, names: Sequence[str]) -> None:
        self._workspace, self._model, self._truth = workspace, model, truth
        self._column = {key: places[-1] for key, places in places_of_names(names).items()}

    def of(self, sha256: str, words: Sequence[str]) -> tuple[str, ...]:
        """One line each: the most similar picture that people tagged with the word, and the features that count."""
        x = self._features(sha256)
        if x is None:
            return ()
        words_of: dict[Lookalike, list[str]] = {}
        for word in words:
            if (found := self._lookalike(x, sha256, word)) is not None:
                words_of.setdefault(found, []).append(word)
        return (*(found.in_words(shared) for found, shared in words_of.items()), *self._parts(x, words))

    def lookalike(self, sha256: str, word: str) -> Lookalike | None:
        """The most similar picture that people tagged with ``word``; None if there is none to compare with."""
        x = self._features(sha256)
        return None if x is None else self._lookalike(x, sha256, word)

    def _features(self, sha256: str) -> Features | None:
        """The features of a picture; None if nobody has looked at it."""
        if self._workspace.library.missing(self._model.recipe, [sha256]):
            return None
        return stored_features(self._workspace, self._model.recipe, [sha256])

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
                    pictures.append(decode_rgb(self._workspace.folder / path, pixel_budget=recipe.pixel_budget))
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

    def _lookalike(self, x: Features, sha256: str, word: str) -> Lookalike | None:
        truth = self._truth
        columns = places_of_names(truth.tag_names).get(word, [])
        told = np.flatnonzero(np.asarray(truth.tags[:, columns].sum(axis=1)).ravel())
        keys = [truth.sha256[row] for row in told if truth.paths[row] is not None and truth.sha256[row] != sha256]
        without = self._workspace.library.missing(self._model.recipe, keys)
        keys = [other for other in keys if other not in without][:_MOST_COMPARED]
        if not keys or is_several(x):
            return None
        alike = cosines(x, stored_features(self._workspace, self._model.recipe, keys))[0]
        row = truth.sha256.index(keys[int(np.argmax(alike))])
        return Lookalike(int(truth.ids[row]), truth.paths[row] or "", float(alike.max()))

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
