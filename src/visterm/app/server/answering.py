"""What routes share: the workspace, conditional answers, and a limit on expensive work."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse, Response

from visterm.app.document import Document
from visterm.app.gallery.filters import By, Filters, State
from visterm.app.server.problems import BusyError
from visterm.app.workspace import Workspace

#: Requests that compute features or explain may run at the same time.
_MOST_EXPENSIVE = 2
_expensive = threading.BoundedSemaphore(_MOST_EXPENSIVE)


def workspace(request: Request) -> Workspace:
    """The workspace that this server shows."""
    photos: Workspace = request.app.state.photos
    return photos


Photos = Annotated[Workspace, Depends(workspace)]


def filters(
    class_name: Annotated[str | None, Query(alias="class", max_length=1000, description="The class.")] = None,
    tag: Annotated[list[str] | None, Query(max_length=50, description="Tags; a picture must have all.")] = None,
    suggested: Annotated[str | None, Query(max_length=1000, description="A tag that a model suggests.")] = None,
    by: Annotated[By | None, Query(description="Who said something of a picture.")] = None,
    state: Annotated[State | None, Query(description="What was decided about it.")] = None,
    folder: Annotated[str | None, Query(max_length=4096, description="A folder, with all below it.")] = None,
) -> Filters:
    """What narrows a list down."""
    return Filters(class_name, tuple(tag or ()), suggested, by, state, folder)


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
    content = document.to_dict()
    response = JSONResponse(content)
    etag = f'W/"{hashlib.blake2b(response.body, digest_size=12).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if etag in (part.strip() for part in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response
