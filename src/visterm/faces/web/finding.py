"""Routes: completing what is typed, searches that are kept, pictures from outside, why a picture matches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from visterm import find
from visterm.collection.opened import NoSuchPictureError
from visterm.faces.web.answering import Number, Photos, expensive
from visterm.faces.web.problems import documented, or_not_found
from visterm.faces.web.teaching import Body

router = APIRouter(tags=["search"])

#: The bytes of a picture as a body.
_PICTURE = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}


class QueryBody(Body):
    """A search."""

    query: str = Field(min_length=1, max_length=1000, examples=["boat sunset -people"])


@router.get("/complete")
def completions(photos: Photos, text: Annotated[str, Query(max_length=1000, examples=["boat s"])]) -> find.Completions:
    """Tags, classes and fields that the last word may become."""
    return photos.complete(text)


@router.get("/searches")
def searches(photos: Photos) -> find.SavedSearches:
    """The searches that were kept."""
    return photos.saved_searches.all()


@router.post("/searches")
def keep_search(photos: Photos, body: QueryBody) -> find.SavedSearches:
    """Keep a search. Keeping it twice changes nothing."""
    return photos.saved_searches.keep(body.query)


@router.post("/searches/forget")
def forget_search(photos: Photos, body: QueryBody) -> find.SavedSearches:
    """Forget a search."""
    return photos.saved_searches.forget(body.query)


@router.get("/pictures/{number}/similar", responses=documented(404, 429))
def similar(
    photos: Photos, number: Number, limit: Annotated[int, Query(ge=1, le=200, examples=[24])] = 24
) -> find.Lookalikes:
    """The pictures that look most like it."""
    with expensive(), or_not_found(NoSuchPictureError):
        return photos.similar(number, limit=limit)


@router.get("/pictures/{number}/why", responses=documented(404, 429))
def explain(
    photos: Photos, number: Number, word: Annotated[str, Query(min_length=1, max_length=1000, examples=["sky"])]
) -> find.Why:
    """Why the model suggests a tag: the parts of the picture that count, and a picture it reminds of."""
    with expensive(), or_not_found(NoSuchPictureError):
        return photos.why(number, word)


@router.post("/look", responses=documented(408, 429), openapi_extra={"requestBody": _PICTURE})
async def look_at(request: Request, photos: Photos) -> find.Look:
    """Classify and tag a picture from outside, and find pictures like it. It is not added."""
    data = await request.body()

    def answer() -> find.Look:
        with expensive():
            return photos.look(data)

    return await run_in_threadpool(answer)
