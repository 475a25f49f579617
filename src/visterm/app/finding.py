"""Finding pictures of the collection: by words, and by what they look like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from visterm.app.describing import ready_recipe, stored_features
from visterm.app.indexing import class_index, code_index, pair_index, word_index
from visterm.app.looks import RECIPE, cosines, features_of, hash_of, liker, with_features
from visterm.app.regions import Regions
from visterm.app.why import Witnesses
from visterm.app.workspace import Workspace
from visterm.catalogue.labels import Kind
from visterm.catalogue.truth import Truth
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.language import installed as meanings
from visterm.language.words import key
from visterm.models import Model
from visterm.search.beliefs import DEPENDENCE, Beliefs
from visterm.search.evidence import Evidence
from visterm.search.meaning import Note
from visterm.search.pairs import Pairs
from visterm.search.query import Node, Not, Term, parse
from visterm.search.relevance import NOTHING_BELOW, Relevance
from visterm.search.searcher import Hit, Reason, Searcher
from visterm.search.snapshot import largest


@dataclass(frozen=True, slots=True)
class Found:
    """A picture found. ``score`` is the probability that it fits a search, or how alike it is, 1 for the same.

    ``told``: people said so; ``likely``: it counts as found; ``reasons`` say which words fit and who says so,
    ``evidence`` what made a model believe it, and ``regions`` where in the picture that is.
    """

    path: str
    score: float
    told: bool = False
    likely: bool = True
    reasons: tuple[Reason, ...] = ()
    evidence: tuple[str, ...] = ()
    regions: Regions | None = None


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
    workspace: Workspace,
    model: Model | None,
    text: str,
    *,
    n_best: int = 20,
    unlikely: bool = False,
    why: bool = False,
) -> Findings:
    """The pictures that fit a query, people's word first, then what ``model`` believes; without one, people's only.

    With ``unlikely`` also pictures that count as not found, with ``why`` what made the model believe. The language is
    that of :mod:`visterm.search.query`.
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
    relevance, tag_beliefs, dependence, nothing_below = None, None, DEPENDENCE, NOTHING_BELOW
    if model is not None and rows:
        index, relevance = word_index(workspace, model, keys)
        tag_beliefs = Beliefs(index.snapshot(), _current_names(workspace, "tag", model.info.tags), keys)
        dependence, nothing_below = relevance.dependence_, relevance.nothing_below_
    pairs = None
    if model is not None and relevance is not None and sum(1 for _ in _terms(tree)) > 1:
        pairs = _pairs(workspace, model, relevance, keys)
    searcher = Searcher(
        evidence,
        tag_beliefs,
        _class_beliefs(workspace, model, tree, evidence, keys),
        like=liker(workspace, model, truth, rows),
        vectors=meanings.installed(),
        pairs=pairs,
        dependence=dependence,
        nothing_below=nothing_below,
    )
    hits = searcher.search(text, n_best, unlikely=unlikely)
    found = [Found(evidence.paths[h.row], h.probability, h.told, h.likely, h.reasons) for h in hits.hits]
    if why and model is not None and relevance is not None:
        witnesses = Witnesses(workspace, model, truth, _current_names(workspace, "tag", model.info.tags), relevance)
        words = [_believed(hit) for hit in hits.hits]
        regions = witnesses.regions([(item.path, of_one) for item, of_one in zip(found, words, strict=True)])
        for i, hit in enumerate(hits.hits):
            where = () if regions[i] is None else (str(regions[i]),)
            lines = (*where, *witnesses.of(keys[hit.row], words[i])) if words[i] else ()
            found[i] = replace(found[i], evidence=lines, regions=regions[i])
    return Findings(
        found,
        hits.notes,
        hits.cut_off if np.isfinite(hits.cut_off) else None,
        hits.n_likely,
        hits.best,
        measured=model is None or model.relevance is not None,
    )


def _believed(hit: Hit) -> list[str]:
    """The words by which a model believes that a picture fits.

    Words that must all fit are each at least as likely as the whole; alternatives that are less likely do not count.
    """
    reasons = [reason for reason in hit.reasons if reason.by == "model" and not reason.excluded]
    least = min(hit.probability, max((reason.probability for reason in reasons), default=0.0))
    return list(dict.fromkeys(reason.word for reason in reasons if reason.probability >= 0.999 * least))


def similar(
    workspace: Workspace,
    picture: Path,
    recipe_name: str = RECIPE,
    *,
    model: Model | None = None,
    n_best: int = 20,
) -> Findings:
    """The pictures that look most like ``picture``, which itself is left out.

    They are compared by the features of a recipe, with cosines as scores (of the square roots for histograms and
    counts); or by the codes of a ``model`` that has such, with ``exp(-distance^2 / 2)``.
    """
    own = hash_of(workspace, picture)
    truth = workspace.catalogue.truth()
    rows = [row for row, path in enumerate(truth.paths) if path is not None and truth.sha256[row] != own]
    if model is not None:
        return _similar_codes(workspace, model, picture, own, {truth.sha256[row]: row for row in rows}, truth, n_best)
    recipe = ready_recipe(workspace, recipe_name)
    rows = with_features(workspace, recipe, truth, rows)
    if not rows:
        raise InputError("there is no other picture in the collection to compare with")
    x = features_of(workspace, recipe, picture, own)
    alike = cosines(x, stored_features(workspace, recipe, [truth.sha256[row] for row in rows]))[0]
    return Findings([Found(truth.paths[rows[i]] or "", float(alike[i])) for i in largest(alike, n_best)])


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
    code = np.asarray(model.estimator.transform(features_of(workspace, model.recipe, picture, own)))[0]
    found = index.nearest(code, n_best + 1)  # one more, as the picture itself may be among them
    likeness = np.exp(-(found.scores.astype(np.float64) ** 2) / 2)
    pairs = [(row_of[name], float(s)) for name, s in zip(found.keys, likeness, strict=True) if name in row_of]
    return Findings([Found(truth.paths[row] or "", score) for row, score in pairs[:n_best]])


def _pairs(workspace: Workspace, model: Model, relevance: Relevance, keys: list[str]) -> Pairs | None:
    """What a model believes of two words together, where it has learned it and how much it counts."""
    weight = getattr(relevance, "pair_weight_", 0.0)  # models that know no pairs have none
    if not weight:
        return None
    index, columns = pair_index(workspace, model, keys)
    names = _current_names(workspace, "tag", model.info.tags)
    return Pairs(index.snapshot(), [(names[a], names[b]) for a, b in columns], keys, weight)


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


def _current_names(workspace: Workspace, kind: Kind, names: tuple[str, ...]) -> list[str]:
    """What the model's names are called now: renamed and merged ones by their new name, dropped ones by none."""
    aliases, dropped = workspace.catalogue.aliases(kind), set(workspace.catalogue.dropped(kind))
    current = [aliases.get(name, name) for name in names]
    return ["" if name in dropped else name for name in current]
