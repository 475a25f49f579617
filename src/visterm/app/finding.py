"""Finding pictures of the collection: by words, and by what they look like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from visterm.app.describing import describe, features_of_files, ready_recipe, stored_features
from visterm.app.indexing import class_index, code_index, word_index
from visterm.app.workspace import Workspace
from visterm.collection.truth import Truth
from visterm.contracts import Features, Matrix, Task, is_several, take
from visterm.distances.named import metric_named
from visterm.errors import InputError
from visterm.models import Model
from visterm.search.beliefs import DEPENDENCE, Beliefs, Floats
from visterm.search.evidence import Evidence
from visterm.search.index import largest
from visterm.search.likeness import Likeness
from visterm.search.meaning import Note
from visterm.search.query import Node, Not, Term, parse
from visterm.search.relevance import NOTHING_BELOW
from visterm.search.searcher import Reason, Searcher
from visterm.search.words import key
from visterm.vision.recipes.base import Recipe

#: The features by which ``like:`` compares where a model's are several, or there is no model.
_LIKE_RECIPE = "colour"


@dataclass(frozen=True, slots=True)
class Found:
    """A picture found. ``score`` is the probability that it fits a search, or how alike it is, 1 for the same.

    ``told``: people said so; ``likely``: it counts as found; ``reasons`` say why.
    """

    path: str
    score: float
    told: bool = False
    likely: bool = True
    reasons: tuple[Reason, ...] = ()


@dataclass(slots=True)
class Findings:
    """The pictures found, best first, and what the search has to say of itself.

    Pictures from the probability ``cut_off`` on count as found (None: nothing does, though the best has ``best``);
    there are ``n_likely`` of them (None: more than were counted). ``measured``: how sure the model may be was learned
    on held-out pictures.
    """

    found: list[Found]
    notes: list[Note] = field(default_factory=list)
    cut_off: float | None = None
    n_likely: int | None = None
    best: float = 0.0
    measured: bool = True


def search(
    workspace: Workspace, model: Model | None, text: str, *, n_best: int = 20, unlikely: bool = False
) -> Findings:
    """The pictures that fit a query, people's word first, then what ``model`` believes; without one, people's only.

    With ``unlikely`` also pictures that count as not found. See :mod:`visterm.search.query` for the language.
    """
    tree = parse(text)
    truth = workspace.catalogue.truth()
    rows = [row for row, path in enumerate(truth.paths) if path is not None]
    keys = [truth.sha256[row] for row in rows]
    evidence = Evidence(
        [truth.paths[row] or "" for row in rows],
        tags=truth.tags[rows],
        tag_names=truth.tag_names,
        denied=truth.rejected[rows],
        classes=[truth.classes[row] for row in rows],
        captions=[truth.captions[row] for row in rows],
    )
    tag_beliefs, dependence, nothing_below = None, DEPENDENCE, NOTHING_BELOW
    if model is not None and rows:
        index, relevance = word_index(workspace, model, keys)
        tag_beliefs = Beliefs(index.snapshot(), _current_names(workspace, "tag", model.info.tags), keys)
        dependence, nothing_below = relevance.dependence_, relevance.nothing_below_
    searcher = Searcher(
        evidence,
        tag_beliefs,
        _class_beliefs(workspace, model, tree, evidence, keys),
        like=_liker(workspace, model, truth, rows),
        dependence=dependence,
        nothing_below=nothing_below,
    )
    hits = searcher.search(text, n_best, unlikely=unlikely)
    return Findings(
        [Found(evidence.paths[h.row], h.probability, h.told, h.likely, h.reasons) for h in hits.hits],
        hits.notes,
        hits.cut_off if np.isfinite(hits.cut_off) else None,
        hits.n_likely,
        hits.best,
        measured=model is None or model.relevance is not None,
    )


def similar(
    workspace: Workspace,
    picture: Path,
    recipe_name: str = _LIKE_RECIPE,
    *,
    model: Model | None = None,
    n_best: int = 20,
) -> Findings:
    """The pictures that look most like ``picture``, which itself is left out.

    They are compared by the features of a recipe, with cosines as scores (of the square roots for histograms and
    counts); or by the codes of a ``model`` that has such, with ``exp(-distance^2 / 2)``.
    """
    known = workspace.catalogue.picture(picture.absolute() if picture.exists() else picture)
    own = None if known is None else known.sha256
    truth = workspace.catalogue.truth()
    rows = [row for row, path in enumerate(truth.paths) if path is not None and truth.sha256[row] != own]
    if model is not None:
        return _similar_codes(workspace, model, picture, own, {truth.sha256[row]: row for row in rows}, truth, n_best)
    recipe = ready_recipe(workspace, recipe_name)
    rows = _described(workspace, recipe, truth, rows)
    if not rows:
        raise InputError("there is no other picture in the collection to compare with")
    cosines = _cosines(
        _features_of(workspace, recipe, picture, own),
        stored_features(workspace, recipe, [truth.sha256[r] for r in rows]),
    )
    best = largest(cosines[0], n_best)
    return Findings([Found(truth.paths[rows[i]] or "", float(cosines[0, i])) for i in best])


def _similar_codes(
    workspace: Workspace,
    model: Model,
    picture: Path,
    own: str | None,
    row_of: dict[str, int],
    truth: Truth,
    n_best: int,
) -> Findings:
    if not hasattr(model.estimator, "transform"):
        raise InputError(f"the model {model.info.name} has no codes to compare pictures by: use one such as ccd2")
    if not row_of:
        raise InputError("there is no other picture in the collection to compare with")
    index = code_index(workspace, model, truth.sha256)
    code = np.asarray(model.estimator.transform(_features_of(workspace, model.recipe, picture, own)))[0]
    found = index.nearest(code, n_best + 1)  # one more, as the picture itself may be among them
    likeness = np.exp(-(found.scores.astype(np.float64) ** 2) / 2)
    pairs = [(row_of[name], float(s)) for name, s in zip(found.keys, likeness, strict=True) if name in row_of]
    return Findings([Found(truth.paths[row] or "", score) for row, score in pairs[:n_best]])


def _class_beliefs(
    workspace: Workspace, model: Model | None, tree: Node, evidence: Evidence, keys: list[str]
) -> Beliefs | None:
    """What a model says of classes, where the query names one: the searching model if it can, else the newest."""
    from visterm.models import load_model

    able = [info for info in workspace.models() if info.does(Task.CLASSIFY)]
    classes = {key(name) for info in able for name in info.classes} | set(evidence.class_names)
    asked = [
        term for term in _terms(tree) if term.field == "class" or (term.field is None and key(term.text) in classes)
    ]
    if not asked or not keys:
        return None
    if model is None or not model.info.does(Task.CLASSIFY):
        if not able:
            return None
        model = load_model(workspace.model_folder(able[-1].name, able[-1].version))
    index = class_index(workspace, model, keys)
    return Beliefs(index.snapshot(), _current_names(workspace, "class", model.info.classes), keys)


def _terms(node: Node) -> Iterator[Term]:
    if isinstance(node, Term):
        yield node
    else:
        for part in (node.part,) if isinstance(node, Not) else node.parts:
            yield from _terms(part)


def _current_names(workspace: Workspace, kind: str, names: tuple[str, ...]) -> list[str]:
    """What the model's names are called now: renamed and merged ones by their new name, dropped ones by none."""
    aliases, dropped = workspace.catalogue.aliases(kind), set(workspace.catalogue.dropped(kind))  # type: ignore[arg-type]
    current = [aliases.get(name, name) for name in names]
    return ["" if name in dropped else name for name in current]


def _liker(workspace: Workspace, model: Model | None, truth: Truth, rows: list[int]) -> Callable[[str], Floats]:
    """What answers ``like:PICTURE``: log-probabilities that pictures are labelled alike; the picture is left out."""

    def like(reference: str) -> Floats:
        recipe = model.recipe if model is not None and len(model.recipe.outputs) == 1 else None
        recipe = recipe or ready_recipe(workspace, _LIKE_RECIPE)
        picture = Path(reference)
        known = workspace.catalogue.picture(picture.absolute() if picture.exists() else picture)
        own = None if known is None else known.sha256
        if own is None and not picture.exists():
            raise InputError(f"like:{reference}: there is no such file, and no such picture in the collection")
        places = {row: place for place, row in enumerate(rows)}
        usable = _described(workspace, recipe, truth, rows)
        X = stored_features(workspace, recipe, [truth.sha256[row] for row in usable])
        likeness = Likeness().fit(
            lambda some: _cosines(take(X, some), X), [truth.classes[row] for row in usable], truth.tags[usable]
        )
        log_p = np.full(len(rows), -np.inf, np.float32)
        cosines = _cosines(_features_of(workspace, recipe, picture, own), X)[0]
        log_p[[places[row] for row in usable]] = likeness.log_probabilities(cosines)
        if own is not None:
            log_p[[place for row, place in places.items() if truth.sha256[row] == own]] = -np.inf
        return log_p

    return like


def _described(workspace: Workspace, recipe: Recipe, truth: Truth, rows: list[int]) -> list[int]:
    """Those of ``rows`` whose features can be computed, which they are."""
    describe(workspace, recipe)
    without = workspace.features.missing(recipe, [truth.sha256[row] for row in rows])
    return [row for row in rows if truth.sha256[row] not in without]


def _features_of(workspace: Workspace, recipe: Recipe, picture: Path, own: str | None) -> Features:
    """The features of a picture of the collection (by its hash ``own``) or of any file."""
    if own is not None and not workspace.features.missing(recipe, [own]):
        return stored_features(workspace, recipe, [own])
    x, _, failed = features_of_files(recipe, [picture])
    if failed:
        raise InputError(str(failed[0]))
    return x


def _cosines(A: Features, B: Features) -> Floats:
    """(n_a, n_b) cosines: of the square roots of histograms and counts, else of the features."""
    if is_several(A) or is_several(B):
        raise InputError("pictures are compared by one feature, not by several: choose another recipe")
    a, b = cast(Matrix, A), cast(Matrix, B)
    if a.min() >= 0 and b.min() >= 0:
        return 1 - metric_named("hellinger")(a, b) ** 2 / 2
    return 1 - metric_named("cosine")(a, b)
