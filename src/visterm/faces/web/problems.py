"""Errors as RFC 9457 problem documents: a person reads ``detail``, a program reads ``status`` and ``type``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from visterm.catalogue.history import NotLastError
from visterm.catalogue.labels import Kind
from visterm.errors import InputError, PictureError, VistermError
from visterm.labels.labelling import NewNameError

MEDIA_TYPE = "application/problem+json"
_TITLES = {
    400: "This cannot be done as asked",
    401: "A token is needed",
    403: "Not allowed",
    404: "There is no such thing",
    405: "This address does not accept this kind of request",
    408: "The upload took too long",
    409: "This needs a decision",
    413: "Too large",
    415: "The content is of the wrong type",
    421: "Wrong address",
    422: "The request does not have the right form",
    429: "Too many at once",
    503: "Not now",
}


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(examples=["about:blank"])
    title: str
    status: int
    detail: str = Field(description="A sentence for a person.")


class SlipProblem(Problem):
    """A class or tag is new and may be a slip. If it is right, send the request again with ``"new": true``."""

    status: int = Field(examples=[409])
    question: str = Field(
        description="What to ask a person.", examples=["'boats' is new; did you mean 'boat' (a tag of 7 pictures)?"]
    )
    kind: Kind = Field(description="Whether the name is a class or a tag.", examples=["class"])
    name: str = Field(description="The name in question.", examples=["boats"])
    near: str | None = Field(description="The name in use that it looks like, or null.", examples=["boat"])
    near_kind: Kind | None = Field(description="Whether `near` is a class or a tag.", examples=["tag"])
    near_pictures: int = Field(description="How many pictures have `near`.", examples=[7])


class OtherActionProblem(Problem):
    """The wanted action is not the last one, so another one would be undone. To undo that one, send its number."""

    status: int = Field(examples=[409])
    action: int = Field(description="The number of the action that would be undone.", examples=[13])
    what: str = Field(description="What it did, in words.", examples=["label 1 picture: tag boat"])
    who: str = Field(description="Who did it: a person or an import.", examples=["person"])
    time: str = Field(description="When it was done.", examples=["2025-05-01T10:32:07.123+00:00"])


def schemas() -> dict[str, Any]:
    """The forms of problems, for the OpenAPI document."""
    return {form.__name__: form.model_json_schema() for form in (Problem, SlipProblem, OtherActionProblem)}


def documented(*statuses: int, form: type[Problem] = Problem) -> dict[int | str, dict[str, Any]]:
    """How a route documents that it may answer with a problem of this form."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{form.__name__}"}}}
    return {status: {"description": _TITLES[status], "content": content} for status in statuses}


class NotFoundError(InputError):
    """What was asked for does not exist."""


@contextmanager
def or_not_found(error_type: type[InputError] = InputError) -> Iterator[None]:
    """Inside, an error of this type means that what the address names does not exist."""
    try:
        yield
    except error_type as error:
        raise NotFoundError(str(error)) from error


class BusyError(VistermError):
    """Too many expensive requests at once."""


def problem(status: int, detail: str, *, headers: dict[str, str] | None = None, **more: Any) -> JSONResponse:
    """A problem document; ``more`` are members of its own."""
    content = {"type": "about:blank", "title": _TITLES.get(status, "It failed"), "status": status, "detail": detail}
    return JSONResponse(content | more, status, headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make every error of ``app`` a problem document."""

    @app.exception_handler(NewNameError)
    def ask(_: Request, error: NewNameError) -> JSONResponse:
        return problem(
            409,
            str(error),
            question=error.question,
            kind=error.kind,
            name=error.name,
            near=error.near,
            near_kind=None if error.near is None else error.near_kind,
            near_pictures=error.n_pictures,
        )

    @app.exception_handler(NotLastError)
    def ask_first(_: Request, error: NotLastError) -> JSONResponse:
        last = error.last
        return problem(409, str(error), action=last.id, what=last.what, who=last.who, time=last.time)

    @app.exception_handler(VistermError)
    def refuse(_: Request, error: VistermError) -> JSONResponse:
        if isinstance(error, NotFoundError):
            return problem(404, str(error))
        if isinstance(error, BusyError):
            return problem(429, str(error), headers={"Retry-After": "1"})
        if isinstance(error, PictureError):
            return problem(415, str(error), title="This file cannot be used as a picture")
        return problem(400 if isinstance(error, InputError) else 503, str(error))

    @app.exception_handler(RequestValidationError)
    def explain(_: Request, error: RequestValidationError) -> JSONResponse:
        found = [{"at": ".".join(map(str, item["loc"])), "message": item["msg"]} for item in error.errors()]
        return problem(422, "; ".join(f"{item['at']}: {item['message']}" for item in found), errors=found)

    @app.exception_handler(HTTPException)
    def plain(_: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers) if error.headers else None
        return problem(error.status_code, str(error.detail), headers=headers)
