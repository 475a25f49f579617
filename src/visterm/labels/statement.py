"""What a person says of pictures in one step, and the act by which its labels are given."""

from collections.abc import Sequence
from dataclasses import dataclass

from visterm.catalogue.acts import Act, AnsweredQueue
from visterm.catalogue.importing import clean_text
from visterm.catalogue.labels import Kind, State, clean_name
from visterm.catalogue.sayings import TextKind
from visterm.documents.wording import counted
from visterm.errors import UsageError

#: Characters of a caption in the history.
_SHOWN = 60


@dataclass(frozen=True)
class Statement:
    """A class, tags that pictures have, tags that they do not have, and what it says of all other tags.

    ``caption`` and ``title`` replace those that the pictures have.
    ``clear`` withdraws what the person said before, so that imports and models count again: ``class``, ``tags``,
    ``caption``, ``title``, or one name such as ``tag:boat``. ``accept`` makes the models' suggestions the person's own
    labels.

    The tags are some of those that the pictures have, unless they are ``complete``: these, with those that the person
    gave before, are all. With ``only``, these are all, and every other tag that anybody gave is denied.
    ``answering`` is the queue of the review whose question this answers: ``teach``, ``tag``, ``errors`` or ``measure``.
    """

    class_name: str | None = None
    tags: Sequence[str] = ()
    no_tags: Sequence[str] = ()
    caption: str | None = None
    title: str | None = None
    clear: Sequence[str] = ()
    accept: bool = False
    complete: bool = False
    only: bool = False
    answering: AnsweredQueue | None = None

    def __post_init__(self) -> None:
        if not (
            self.class_name is not None
            or self.tags
            or self.no_tags
            or self.texts
            or self.clear
            or self.accept
            or self.describes
        ):
            raise UsageError(
                "say what to note: a class, tags, tags to deny, a caption, a title, names to clear, accept=True, or "
                "complete=True"
            )
        if self.only and not (self.tags or self.accept):
            raise UsageError(
                "only=True needs the tags that the pictures have; complete=True says that there are no more"
            )
        both = sorted(set(map(clean_name, self.tags)).intersection(map(clean_name, self.no_tags)))
        if both:
            raise UsageError(f"the tag {both[0]!r} is both given and denied: say one of the two")
        _ = self.act

    @property
    def describes(self) -> bool:
        """Whether the person says that no other tag fits."""
        return self.complete or self.only

    @property
    def says_something(self) -> bool:
        """Whether anything is said of the pictures that was not said before: only of those that can be seen."""
        said = self.tags or self.no_tags or self.texts or self.accept or self.describes
        return bool(self.class_name is not None or said)

    @property
    def texts(self) -> dict[TextKind, str]:
        """The caption and the title, where they are said, without surrounding white space."""
        found: dict[TextKind, str] = {}
        if self.caption is not None:
            found["caption"] = clean_text(self.caption)
        if self.title is not None:
            found["title"] = " ".join(clean_text(self.title).split())
        for kind, text in found.items():
            if not text:
                raise UsageError(f"the {kind} is empty: clear={kind!r} withdraws the one that you gave")
        return found

    @property
    def act(self) -> Act:
        """The act by which the labels are given."""
        if self.answering is not None:
            return Act.answering(self.answering)
        return Act.DESCRIBED if self.describes else Act.SAID

    @property
    def labels(self) -> list[tuple[Kind, str, State]]:
        """Kind, name and state of each label."""
        labels: list[tuple[Kind, str, State]] = [("tag", name, "accepted") for name in self.tags]
        labels += [("tag", name, "rejected") for name in self.no_tags]
        return labels if self.class_name is None else [*labels, ("class", self.class_name, "accepted")]

    def in_words(self, n_pictures: int) -> str:
        """What is said, for the history."""
        parts = [*([] if self.class_name is None else [f"class {self.class_name}"])]
        parts += [f"tag {name}" for name in self.tags]
        parts += [*(f"not tag {name}" for name in self.no_tags), *(f"clear {what}" for what in self.clear)]
        parts += [
            f"{kind} {text if len(text) < _SHOWN else f'{text[:_SHOWN]}...'}" for kind, text in self.texts.items()
        ]
        parts += ["accept what models suggest"] if self.accept else []
        parts += ["no other tags"] if self.only else ["all tags"] if self.complete else []
        return f"label {counted(n_pictures, 'picture')}: {', '.join(parts)}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
