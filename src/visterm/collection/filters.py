"""What narrows a list of pictures down: class, tag, folder, who said so, what is still to be decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.listing import Said
from visterm.errors import InputError

if TYPE_CHECKING:
    from visterm.collection.view import View

#: Who said something of a picture: a person, an import, only a model, or nobody.
By = Literal["person", "import", "model", "nobody"]
#: What is to be seen: pictures with suggestions, with what people accepted or rejected, without any label.
State = Literal["suggested", "accepted", "rejected", "unlabelled"]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Filters:
    """A picture must meet all conditions and have all ``tags``. ``folder`` is "" for the collection's own folder."""

    class_name: str | None = None
    tags: tuple[str, ...] = ()
    suggested_tag: str | None = None
    by: By | None = None
    state: State | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        for value, allowed in ((self.by, By), (self.state, State)):
            if value is not None and value not in get_args(allowed):
                raise InputError(
                    f"pictures cannot be narrowed down by {value!r}: choose {', '.join(get_args(allowed))}"
                )

    def __bool__(self) -> bool:
        return self != Filters()

    def mask(self, view: View) -> Mask:
        """Which rows of the view meet all conditions."""
        kept = np.ones(len(view), np.bool_)
        if self.class_name is not None:
            kept &= view.classes == view.number_of_class(self.class_name)
        for tag in self.tags:
            kept &= view.has_tag(tag)
        if self.suggested_tag is not None:
            kept &= view.is_suggested(self.suggested_tag)
        if self.by is not None:
            kept &= said_by(view, self.by)
        if self.state is not None:
            kept &= in_state(view, self.state)
        if self.folder is not None:
            kept &= view.in_folder(self.folder)
        return kept


def said_by(view: View, by: By) -> Mask:
    """The pictures that have a label from a person, from an import, only from a model, or from nobody."""
    told = view.said & (Said.PERSON | Said.IMPORT | Said.REJECTED)
    if by == "nobody":
        return (told == 0) & ~view.has_suggestion
    if by == "model":
        return (told == 0) & view.has_suggestion
    return (view.said & (Said.PERSON if by == "person" else Said.IMPORT)) > 0


def in_state(view: View, state: State) -> Mask:
    """The pictures with something suggested, accepted or rejected, or without a class and tags from people."""
    if state == "suggested":
        return view.has_suggestion
    accepted = (view.said & (Said.PERSON | Said.IMPORT)) > 0
    if state == "rejected":
        return (view.said & Said.REJECTED) > 0
    return accepted if state == "accepted" else ~accepted
