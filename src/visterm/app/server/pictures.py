"""Routes: lists of pictures, counts, one picture, thumbnails."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from visterm.app.gallery import facets as counting
from visterm.app.gallery import picture as one
from visterm.app.gallery.facets import Facets
from visterm.app.gallery.pages import MAX_PAGE, GalleryPage, Sort
from visterm.app.gallery.picture import LabelsOfPictures, PictureDetails
from visterm.app.gallery.thumbnails import Size
from visterm.app.server.answering import Narrowed, Photos, conditional
from visterm.app.server.problems import NotFoundError, documented
from visterm.errors import InputError

router = APIRouter(tags=["pictures"])

Words = Annotated[str, Query(alias="q", max_length=1000, description="What to search for.", examples=["boat -people"])]
Number = Annotated[int, Path(ge=1, le=2**53, description="The picture's number.", examples=[1])]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Pictures on a page.", examples=[100])]
Order = Annotated[Sort, Query(description="`best`: the likeliest first, without words the newest.", examples=["name"])]
#: The client has the answer already.
_SAME: dict[int | str, dict[str, str]] = {304: {"description": "Nothing has changed since the given `ETag`"}}
_THUMBNAIL = {200: {"content": {"image/webp": {}}, "description": "WebP"}, **documented(404)}
Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.", examples=["WzIsIDVd"])]


@router.get("/pictures", response_model=GalleryPage, responses=_SAME)
def pictures(
    request: Request,
    photos: Photos,
    narrowed: Narrowed,
    sort: Order = "best",
    cursor: Cursor = None,
    limit: Limit = 500,
) -> Response:
    """The pictures of the collection, page by page, as columns."""
    return conditional(request, photos.gallery.page("", narrowed, sort=sort, cursor=cursor, limit=limit))


@router.get("/search", response_model=GalleryPage, responses=_SAME)
def search(
    request: Request,
    photos: Photos,
    narrowed: Narrowed,
    query: Words,
    sort: Order = "best",
    cursor: Cursor = None,
    limit: Limit = 500,
) -> Response:
    """The pictures that match some words, the likeliest first, page by page."""
    return conditional(request, photos.gallery.page(query, narrowed, sort=sort, cursor=cursor, limit=limit))


@router.get("/facets", response_model=Facets, responses=_SAME)
def facets(request: Request, photos: Photos, narrowed: Narrowed, query: Words = "") -> Response:
    """How many pictures of a list have each class, tag, folder and so on."""
    return conditional(request, counting.facets(photos, query, narrowed))


@router.get("/labels", response_model=LabelsOfPictures, responses=_SAME)
def labels(
    request: Request,
    photos: Photos,
    ids: Annotated[str, Query(pattern=r"^[0-9]{1,18}(,[0-9]{1,18})*$", max_length=20_000, examples=["1,2,3"])],
) -> Response:
    """What people said of some pictures and what models suggest, in short."""
    return conditional(request, one.labels_of(photos, [int(number) for number in ids.split(",")]))


@router.get("/pictures/{number}", response_model=PictureDetails, responses={**_SAME, **documented(404)})
def picture(request: Request, photos: Photos, number: Number) -> Response:
    """All that is known of one picture."""
    return conditional(request, _found(photos, number))


@router.get("/thumbnails/{key}/{size}.webp", response_class=Response, responses=_THUMBNAIL)
def thumbnail(
    photos: Photos,
    key: Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The picture's content hash.", examples=["0" * 64])],
    size: Annotated[
        Literal["small", "large"], Path(description="At most 480 x 320, or 1600 x 1600.", examples=["small"])
    ],
) -> Response:
    """A small picture. It is named by content, so it never changes."""
    wanted: Size = size
    try:
        data = photos.thumbnails.place(key, wanted).read_bytes()
    except OSError:  # it is made when it is first asked for
        original = photos.collection().frame.files.get(key)
        if original is None:
            raise NotFoundError("there is no picture with this content, or its file is missing") from None
        try:
            data = photos.thumbnails.file(key, wanted, original).read_bytes()
        except InputError as error:
            raise NotFoundError(str(error)) from error
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "ETag": f'"{key[:32]}-{size}"'}
    return Response(data, media_type="image/webp", headers=headers)


def _found(photos: Photos, number: int) -> PictureDetails:
    try:
        return one.details(photos, number)
    except InputError as error:
        raise NotFoundError(str(error)) from error
