"""Routes: completing what is typed, searches that are kept, pictures from outside, why a picture matches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from visterm.app.gallery.completion import Completions, complete
from visterm.app.gallery.looking import Look, LookAlikes, look, lookalikes
from visterm.app.gallery.picture import picture_with
from visterm.app.gallery.saved import SavedSearches
from visterm.app.gallery.whys import Why, why
from visterm.app.server.answering import Photos, expensive
from visterm.app.server.problems import NotFoundError, documented
from visterm.app.server.teaching import Body
from visterm.errors import InputError

router = APIRouter(tags=["search"])

#: The bytes of a picture as a body.
_PICTURE = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
Number = Annotated[int, Path(ge=1, le=2**53, description="The picture's number.", examples=[1])]


class QueryBody(Body):
    """A search."""

    query: str = Field(min_length=1, max_length=1000, examples=["boat sunset -people"])


@router.get("/complete")
def completions(photos: Photos, text: Annotated[str, Query(max_length=1000, examples=["boat s"])]) -> Completions:
    """Tags, classes and fields that the last word may become."""
    return complete(photos, text)


@router.get("/searches")
def searches(photos: Photos) -> SavedSearches:
    """The searches that were kept."""
    return photos.saved_searches.all()


@router.post("/searches")
def keep_search(photos: Photos, body: QueryBody) -> SavedSearches:
    """Keep a search. Keeping it twice changes nothing."""
    return photos.saved_searches.keep(body.query)


@router.post("/searches/forget")
def forget_search(photos: Photos, body: QueryBody) -> SavedSearches:
    """Forget a search."""
    return photos.saved_searches.forget(body.query)


@router.get("/pictures/{number}/similar", responses=documented(404, 429))
def similar(
    photos: Photos, number: Number, limit: Annotated[int, Query(ge=1, le=200, examples=[24])] = 24
) -> LookAlikes:
    """The pictures that look most like it."""
    with expensive():
        return lookalikes(photos, _key(photos, number), limit)


@router.get("/pictures/{number}/why", responses=documented(404, 429))
def explain(
    photos: Photos, number: Number, word: Annotated[str, Query(min_length=1, max_length=1000, examples=["sky"])]
) -> Why:
    """Why the model suggests a tag: the parts of the picture that count, and a picture it reminds of."""
    with expensive():
        return why(photos, _key(photos, number), word)


@router.post("/look", responses=documented(408, 429), openapi_extra={"requestBody": _PICTURE})
async def look_at(request: Request, photos: Photos) -> Look:
    """Classify and tag a picture from outside, and find pictures like it. It is not added."""
    data = await request.body()

    def answer() -> Look:
        with expensive():
            return look(photos, data)

    return await run_in_threadpool(answer)


def _key(photos: Photos, number: int) -> str:
    try:
        return picture_with(photos, number).sha256
    except InputError as error:
        raise NotFoundError(str(error)) from error
