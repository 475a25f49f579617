"""Routes: lists of pictures, counts, one picture, thumbnails."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from visterm.collection.thumbnails import Size
from visterm.faces.web.answering import Narrowed, Number, Photos, conditional
from visterm.faces.web.problems import documented, or_not_found
from visterm.find.lists.facets import Facets
from visterm.find.lists.pages import MAX_PAGE, GalleryPage, Sort
from visterm.find.lists.picture import LabelsOfPictures, PictureDetails
from visterm.find.searching import Findings

router = APIRouter(tags=["pictures"])

Words = Annotated[str, Query(alias="q", max_length=1000, description="What to search for.", examples=["boat -people"])]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Pictures on a page.", examples=[100])]
Order = Annotated[Sort, Query(description="`best`: the likeliest first, without words the newest.", examples=["name"])]
#: The client has the answer already.
_SAME: dict[int | str, dict[str, str]] = {304: {"description": "Nothing has changed since the given `ETag`"}}
_THUMBNAIL = {200: {"content": {"image/webp": {}}, "description": "WebP"}, **documented(404)}
Cursor = Annotated[
    str | None, Query(max_length=200, description="The `next` of the page before.", examples=["WzIsIDVd"])
]


@router.get("/pictures", response_model=GalleryPage, responses=_SAME)
def pictures(
    request: Request,
    photos: Photos,
    narrowed: Narrowed,
    query: Words = "",
    sort: Order = "best",
    cursor: Cursor = None,
    limit: Limit = 500,
) -> Response:
    """The pictures of the collection, or those that match some words, page by page, as columns."""
    return conditional(request, photos.gallery.page(query, narrowed, sort=sort, cursor=cursor, limit=limit))


@router.get("/search", response_model=Findings, responses=_SAME)
def search(
    request: Request,
    photos: Photos,
    narrowed: Narrowed,
    query: Words,
    limit: Annotated[int, Query(ge=1, le=500, description="The most pictures.", examples=[5])] = 20,
    start: Annotated[int, Query(ge=0, le=MAX_PAGE, description="Pictures to pass over.", examples=[0])] = 0,
    unlikely: Annotated[bool, Query(description="Also pictures that are less likely.", examples=[False])] = False,
) -> Response:
    """The pictures that match some words, the likeliest first, and why each matches."""
    found = photos.search(query, limit=limit, start=start, unlikely=unlikely, filters=narrowed)
    return conditional(request, found)


@router.get("/facets", response_model=Facets, responses=_SAME)
def facets(request: Request, photos: Photos, narrowed: Narrowed, query: Words = "") -> Response:
    """How many pictures of a list have each class, tag, folder and so on."""
    return conditional(request, photos.gallery.facets(query, narrowed))


@router.get("/labels", response_model=LabelsOfPictures, responses=_SAME)
def labels(
    request: Request,
    photos: Photos,
    ids: Annotated[str, Query(pattern=r"^[0-9]{1,18}(,[0-9]{1,18})*$", max_length=20_000, examples=["1,2,3"])],
) -> Response:
    """The labels that people gave some pictures, and those that models suggest, in short."""
    return conditional(request, photos.labels_of([int(number) for number in ids.split(",")]))


@router.get("/pictures/{number}", response_model=PictureDetails, responses={**_SAME, **documented(404)})
def picture(request: Request, photos: Photos, number: Number) -> Response:
    """All that is known of one picture."""
    with or_not_found():
        return conditional(request, photos.details(number))


@router.get("/thumbnails/{key}/{size}.webp", response_class=Response, responses=_THUMBNAIL)
def thumbnail(
    photos: Photos,
    key: Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The picture's content hash.", examples=["0" * 64])],
    size: Annotated[
        Literal["small", "large", "full"],
        Path(description="At most 480 x 320, or 1600 x 1600, or 40 million pixels.", examples=["small"]),
    ],
) -> Response:
    """A picture as WebP. It is named by content, so it never changes."""
    wanted: Size = size
    with or_not_found():
        data = photos.thumbnail(key, wanted).read_bytes()
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "ETag": f'"{key[:32]}-{size}"'}
    return Response(data, media_type="image/webp", headers=headers)
