"""What a collection holds, in numbers."""

from dataclasses import asdict, dataclass

from visterm import learn
from visterm.catalogue import Counts, WithoutFile
from visterm.collection.holdings import Holdings
from visterm.documents.document import Document
from visterm.documents.figure import Figure
from visterm.upkeep.unlearned import Unlearned


@dataclass(frozen=True)
class Unreadable:
    """A file that is not a usable picture, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Status(Counts, Document):
    """Counts of everything, suggestions by model, unreadable files and models; ``in_use`` has the model for each task,
    and ``quality`` says how good these are.

    ``without_file`` lists pictures whose file is gone, at most 100, those with the most labels first.
    """

    workspace: str
    language: str
    unreadable: list[Unreadable]
    models: list[str]
    in_use: dict[str, str]
    quality: list[Figure]
    without_file: list[WithoutFile]
    unlearned: Unlearned


def status(holdings: Holdings, news: Unlearned) -> Status:
    """How much there is of everything, with the ``news`` that no model has learned yet."""
    return Status(
        **asdict(holdings.catalogue.counts()),
        workspace=str(holdings.folder),
        language=holdings.catalogue.language,
        unreadable=[Unreadable(path, reason) for path, reason in holdings.catalogue.unreadable()],
        models=[info.reference for info in holdings.shelf.infos()],
        in_use=holdings.shelf.in_use(),
        quality=learn.quality.quality(holdings).figures,
        without_file=holdings.catalogue.without_file(),
        unlearned=news,
    )
