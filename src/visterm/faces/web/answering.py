"""What routes share: the workspace, conditional answers, requests that count once, and a limit on expensive work."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from visterm.collection.filters import By, Filters, State
from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.faces.web.problems import BusyError
from visterm.workspace import Workspace

D = TypeVar("D", bound=Document)
#: Answers that are remembered for requests that are sent again.
_MOST_REMEMBERED = 256
#: Requests that compute features or explain may run at the same time.
_MOST_EXPENSIVE = 2
_expensive = threading.BoundedSemaphore(_MOST_EXPENSIVE)


# What a route depends on is async: it takes no time, and must not wait for a thread.


async def workspace(request: Request) -> Workspace:
    """The workspace that this server shows."""
    photos: Workspace = request.app.state.photos
    return photos


Photos = Annotated[Workspace, Depends(workspace)]
Number = Annotated[int, Path(ge=1, le=2**53, description="The picture's number.", examples=[1])]
_NUMBERS = r"^([0-9]{1,18}(,[0-9]{1,18})*)?$"
Without = Annotated[
    str, Query(pattern=_NUMBERS, max_length=20_000, description="Pictures to leave out.", examples=["1,2"])
]


async def filters(
    class_name: Annotated[
        str | None, Query(alias="class", max_length=1000, description="The class.", examples=["harbour"])
    ] = None,
    tag: Annotated[
        list[str] | None,
        Query(max_length=50, description="Tags; a picture must have all of them.", examples=[["boat"]]),
    ] = None,
    suggested: Annotated[
        str | None, Query(max_length=1000, description="A tag that a model suggests.", examples=["sky"])
    ] = None,
    by: Annotated[By | None, Query(description="Who said something of a picture.", examples=["person"])] = None,
    state: Annotated[
        State | None, Query(description="What was decided about the picture.", examples=["suggested"])
    ] = None,
    folder: Annotated[
        str | None, Query(max_length=4096, description="A folder, with all folders below it.", examples=["pictures"])
    ] = None,
) -> Filters:
    """What narrows a list down."""
    return Filters(class_name, tuple(tag or ()), suggested, by, state, folder)


class Answers:
    """The last answers to requests with an ``Idempotency-Key``: what is sent twice is done once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[object, Any]] = OrderedDict()

    def once(self, path: str, key: str, asked: object, work: Callable[[], D]) -> D:
        """What ``work`` answers, or answered when the same was asked with the same key; a failure is not kept."""
        with self._guard:
            if (path, key) not in self._known:
                self._known[path, key] = (asked, work())
                if len(self._known) > _MOST_REMEMBERED:
                    self._known.popitem(last=False)
            before, answer = self._known[path, key]
        if before != asked:
            raise InputError(f"the Idempotency-Key {key!r} was used for another request: take a new one")
        found: D = answer
        return found


class Once:
    """Does the work of one request, or remembers that it was done."""

    def __init__(self, answers: Answers, path: str, key: str | None) -> None:
        self._answers, self._path, self._key = answers, path, key

    def __call__(self, work: Callable[[], D], asked: object = None) -> D:
        """What ``work`` answers; ``asked`` is the body of the request."""
        return work() if self._key is None else self._answers.once(self._path, self._key, asked, work)


async def once(
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=200,
            examples=["8c1d0f5e"],
            description="A request that is sent again with the same key is not done again.",
        ),
    ] = None,
) -> Once:
    """What does the work of this request."""
    return Once(request.app.state.answers, request.url.path, key)


OnlyOnce = Annotated[Once, Depends(once)]
Narrowed = Annotated[Filters, Depends(filters)]


@contextmanager
def expensive() -> Iterator[None]:
    """Only a few of these run at once; others are asked to come back."""
    if not _expensive.acquire(blocking=False):
        raise BusyError("other pictures are being looked at: ask again in a second")
    try:
        yield
    finally:
        _expensive.release()


def conditional(request: Request, document: Document) -> Response:
    """``document`` with an ETag; 304 if the client has it already."""
    response = JSONResponse(document.to_dict())
    etag = f'W/"{hashlib.blake2b(response.body, digest_size=12).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    asked = request.headers.get("if-none-match", "")
    if asked.strip() == "*" or etag in (part.strip() for part in asked.split(",")):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response
