"""What people have said since the models in use learned: whether it is time to learn again, and who decides that."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

import numpy as np

from visterm.collection.holdings import Holdings
from visterm.contracts import Task
from visterm.contracts.tasks import LEARNED
from visterm.documents.document import Document
from visterm.errors import UsageError
from visterm.learn.choosing import why_not
from visterm.learn.data import labels_only
from visterm.review import Reviewer

#: Who decides when to learn again: nobody, a person who is asked, or Visterm by itself.
When = Literal["off", "ask", "self"]
_SETTING = "learn"
_USUAL: When = "ask"
#: It is time to learn after 30 changes; or after 5, if the review would answer otherwise than the models for 3
#: pictures, and for one in a hundred.
_MANY, _FEW = 30, 5
_CHANGED, _CHANGED_SHARE = 3, 0.01
#: An answer of the review is one from this probability on.
_SURE = 0.5


@dataclass(frozen=True)
class Unlearned(Document):
    """What the models in use have not learned yet.

    ``labels`` counts what people and imports said, changed or withdrew since. ``changed`` is the number of pictures
    that the review, which learns at once, would put into another class; None if it does not know. ``due`` says that it
    is time to learn, ``seconds`` about how long that takes (None: unknown), ``when`` who decides: ``off``, ``ask`` or
    ``self``.
    """

    labels: int
    changed: int | None
    due: bool
    seconds: float | None
    when: When


def unlearned(holdings: Holdings, reviewer: Reviewer) -> Unlearned:
    """What the models in use have not learned yet; nothing is learned for the answer."""
    infos = {info.reference: info for task in Task if (info := holdings.shelf.best(task)) is not None}
    when = learning(holdings)
    if not infos:
        return Unlearned(0, None, False, None, when)
    oldest = min(datetime.fromisoformat(info.training.get("as_of", info.created)) for info in infos.values())
    labels = holdings.catalogue.history.n_said_since(oldest)
    changed = _changed(holdings, reviewer) if labels else 0
    share = (changed or 0) / max(1, len(holdings.collection().frame.rows))
    due = labels >= _MANY or (labels >= _FEW and (changed or 0) >= _CHANGED and share >= _CHANGED_SHARE)
    if due:  # what training would refuse is not offered
        told = labels_only(holdings, holdings.collection())
        due = any(not why_not(task, told) for task in LEARNED.values())
    known = [info.training.get("took") for info in infos.values()]
    seconds = sum(each for each in known if isinstance(each, int | float)) or None
    return Unlearned(labels, changed, due and when != "off", seconds, when)


def learning(holdings: Holdings) -> When:
    """Who decides when to learn again."""
    kept = holdings.catalogue.setting(_SETTING)
    known: tuple[When, ...] = get_args(When)
    return next((each for each in known if each == kept), _USUAL)


def learn_when(holdings: Holdings, when: str) -> When:
    """Set who decides when to learn again."""
    for known in get_args(When):
        if known == when:
            holdings.catalogue.set(_SETTING, when)
            return known
    raise UsageError(f"{when!r} is not known: say {', '.join(get_args(When))}")


def _changed(holdings: Holdings, reviewer: Reviewer) -> int | None:
    """How many pictures without a class the review would put into another class than the model in use does."""
    fit, view = reviewer.fit, holdings.views.newest()
    judged = view.class_judgements
    if fit is None or fit.classes is None or judged is None or fit.collection.frame is not view.collection.frame:
        return None
    best, p = fit.classes.p.argmax(axis=1), fit.classes.p.max(axis=1)
    names = np.array([*judged.names, ""])
    said = names[judged.best[fit.places]]
    other = np.array(fit.class_names)[best] != said
    return int((other & (p >= _SURE) & (said != "") & (view.classes[fit.places] < 0)).sum())
