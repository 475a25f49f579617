"""What made a model believe that a picture fits: pictures it looks like, and what in it speaks for the words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from visterm.app.describing import stored_features
from visterm.app.looks import cosines
from visterm.app.workspace import Workspace
from visterm.collection.truth import Truth
from visterm.contracts import Features, is_several
from visterm.models import Model
from visterm.search.words import key

#: A picture is compared with so many of those that people tagged with a word.
_MOST_COMPARED = 500
#: So many dimensions of the features are named.
_N_PARTS = 3


class Witnesses:
    """Tells, for single pictures, what speaks for the words they were found by.

    ``names`` are what the model's tags are called now.
    """

    def __init__(self, workspace: Workspace, model: Model, truth: Truth, names: Sequence[str]) -> None:
        self._workspace, self._model, self._truth = workspace, model, truth
        self._column = {key(name): column for column, name in enumerate(names)}

    def of(self, sha256: str, words: Sequence[str]) -> tuple[str, ...]:
        """One line each: the picture people tagged with a word that looks most like this one, and what in it counts."""
        if self._workspace.features.missing(self._model.recipe, [sha256]):
            return ()
        x = stored_features(self._workspace, self._model.recipe, [sha256])
        words_of: dict[tuple[str, float], list[str]] = {}
        for word in words:
            if (found := self._lookalike(x, sha256, word)) is not None:
                words_of.setdefault(found, []).append(word)
        lines = [f"looks like {path} ({', '.join(shared)}; {alike:.2f})" for (path, alike), shared in words_of.items()]
        return (*lines, *self._parts(x, words))

    def _lookalike(self, x: Features, sha256: str, word: str) -> tuple[str, float] | None:
        """The picture that people tagged with ``word`` and that looks most like this one, and how much."""
        truth = self._truth
        columns = [column for column, name in enumerate(truth.tag_names) if key(name) == word]
        told = np.flatnonzero(np.asarray(truth.tags[:, columns].sum(axis=1)).ravel())
        keys = [truth.sha256[row] for row in told if truth.paths[row] is not None and truth.sha256[row] != sha256]
        without = self._workspace.features.missing(self._model.recipe, keys)
        keys = [other for other in keys if other not in without][:_MOST_COMPARED]
        if not keys or is_several(x):
            return None
        alike = cosines(x, stored_features(self._workspace, self._model.recipe, keys))[0]
        path = truth.paths[truth.sha256.index(keys[int(np.argmax(alike))])]
        return path or "", float(alike.max())

    def _parts(self, x: Features, words: Sequence[str]) -> list[str]:
        """The dimensions (codewords of a bag) that count most, where the model can tell."""
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
        return [f"codewords {parts}"] if parts else []
