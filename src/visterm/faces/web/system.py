"""Routes: the collection as a whole, models, reports, jobs, and events as they happen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from visterm import find, learn, upkeep
from visterm.catalogue.acts import TagsAre
from visterm.documents.document import Document
from visterm.documents.figure import Stratum, figure
from visterm.faces.web.answering import OnlyOnce, Photos
from visterm.faces.web.guard import Rules, cookie_name
from visterm.faces.web.problems import documented, or_not_found, problem
from visterm.faces.web.teaching import Body
from visterm.workspace import Workspace

router = APIRouter(tags=["collection"])

#: How often the catalogue and the jobs are looked at for events.
_SECONDS = 0.4

JobNumber = Annotated[int, Path(ge=1, le=2**31, description="The job's number.", examples=[1])]


ModelName = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}@[0-9]{1,9}$",
        description="A model, as NAME@VERSION.",
        examples=["tags@1"],
    ),
]
_SUMMARY = learn.reports.ReportSummary(
    "tags@1",
    "ridge-tags",
    "deep",
    "2025-05-01T10:32:07.123+00:00",
    ["tag", "search"],
    {"tag": 0.71, "search": 0.64},
)
_FIGURE = figure("tags", "measuring sample", [Stratum(1.0, 56.8, 80)], model=_SUMMARY.model, baseline=0.35)
_REPORT = learn.Report(
    **{name: getattr(_SUMMARY, name) for name in ("model", "method", "recipe", "made", "in_use")},
    pictures=400,
    pictures_with_class=0,
    pictures_with_tags=160,
    tasks=[learn.reports.Quality("tag", "tag accuracy", _FIGURE.value, _FIGURE.baseline, 80, _FIGURE, _FIGURE.words)],
    figures=[learn.reports.Figure("tag accuracy", 0.71, 0.35)],
    names=[learn.reports.NameQuality("tag", "sky", 120, 0.97)],
    doubts=[],
    card="# tags, version 1",
)


def _example(document: Document) -> dict[int | str, dict[str, Any]]:
    """How a route documents what it answers."""
    return {200: {"content": {"application/json": {"example": document.to_dict()}}}}


class JobBody(Body):
    """A job to start."""

    kind: Literal["train", "add", "features", "duplicates"] = Field(examples=["add"])
    minutes: float | None = Field(
        None, gt=0, le=600, description="For training: about how long to compare methods.", examples=[3]
    )
    tags: TagsAre | None = Field(
        None, description="For adding: whether label sources name all tags of a picture.", examples=["partial"]
    )


class LearningBody(Body):
    """Who decides when to learn again."""

    when: Literal["off", "ask", "self"] = Field(examples=["ask"])


class TokenBody(Body):
    """The token of this server."""

    token: str = Field(min_length=1, max_length=1000, examples=["the-token-that-the-terminal-shows"])


class Session(BaseModel):
    """The token was right, and the browser has its cookie."""

    ok: bool


@router.get("/collection")
def collection(photos: Photos) -> find.Overview:
    """The size of the collection, its models, and the work that waits."""
    return photos.overview()


@router.get("/status")
def status(photos: Photos) -> upkeep.Status:
    """All counts of the collection."""
    return photos.status()


@router.get("/learning")
def learning(photos: Photos) -> upkeep.Unlearned:
    """What the models in use have not learned yet, and whether it is time to learn again."""
    return photos.unlearned()


@router.post("/learning")
def learn_when(photos: Photos, body: LearningBody, once: OnlyOnce) -> upkeep.Unlearned:
    """Say who decides when to learn again: nobody, a person who is asked, or Visterm by itself."""
    return once(lambda: photos.learn_when(body.when), body)


@router.get("/models")
def models(photos: Photos) -> learn.Models:
    """The trained models, how good each is on held-out pictures, and which is in use."""
    return photos.models()


@router.get("/quality", responses=_example(learn.Qualities([_FIGURE])))
def quality(photos: Photos) -> learn.Qualities:
    """How good the models in use are: one figure with its interval for each of classes, tags and search."""
    return photos.quality()


@router.get("/reports", responses=_example(learn.Reports([_SUMMARY])))
def reports(photos: Photos) -> learn.Reports:
    """How good each trained model is, in short, the newest first."""
    return photos.reports()


@router.get("/reports/{model}", responses={**_example(_REPORT), **documented(404)})
def report(photos: Photos, model: ModelName) -> learn.Report:
    """All that was measured of one model on held-out pictures: by task, by measure, by class and tag; and its card."""
    with or_not_found():
        return photos.report(model)


@router.get("/jobs")
def jobs(photos: Photos) -> list[upkeep.Job]:
    """The jobs, the newest first."""
    return photos.jobs.all()


@router.post("/jobs")
def start(photos: Photos, body: JobBody, once: OnlyOnce) -> upkeep.Job:
    """Start a job. If a job of this kind is running, the answer is that job."""
    arguments = ["--minutes", str(body.minutes)] if body.kind == "train" and body.minutes else []
    arguments += ["--tags", body.tags] if body.kind == "add" and body.tags else []
    return once(lambda: photos.jobs.start(body.kind, arguments), body)


@router.get("/jobs/{number}", responses=documented(404))
def job(photos: Photos, number: JobNumber) -> upkeep.Job:
    """One job as it is now."""
    with or_not_found():
        return photos.jobs.job(number)


@router.post("/jobs/{number}/cancel", responses=documented(404))
def cancel(photos: Photos, number: JobNumber, once: OnlyOnce) -> upkeep.Job:
    """Stop a job; what it has finished is kept."""
    with or_not_found():
        photos.jobs.job(number)
    return once(lambda: photos.jobs.cancel(number))


@router.post("/session", response_model=Session)
def session(request: Request, body: TokenBody) -> Response:
    """Exchange the token for a cookie, so that a browser can show pictures."""
    rules: Rules = request.app.state.rules
    token = rules.exchange(body.token)
    if token is None:
        return problem(401, "this is not the token")
    response = JSONResponse({"ok": True})
    response.set_cookie(cookie_name(request.headers["host"]), token, httponly=True, samesite="strict", path="/api/")
    return response


@router.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def events(request: Request, photos: Photos) -> StreamingResponse:
    """Server-sent events: ``changed`` when any program changed the catalogue, ``job`` when a job has moved."""
    return StreamingResponse(_events(request, photos), media_type="text/event-stream")


async def _events(request: Request, photos: Workspace) -> AsyncIterator[str]:
    version, known, idle = None, dict[int, str](), 0
    while not (request.app.state.is_stopping() or await request.is_disconnected()):
        now, found = await run_in_threadpool(lambda: (photos.catalogue.version()[1], photos.jobs.all()))
        if now != version:
            version = now
            yield _event("changed", {"changes": now})
        for each in found:
            text = json.dumps(each.to_dict())
            if known.get(each.id) != text:
                yield _event("job", each.to_dict())
                known[each.id] = text
        idle += 1
        if idle % 40 == 0:
            yield ": still here\n\n"
        await asyncio.sleep(_SECONDS)


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
