"""The web application: the API under ``/api/v1``, the page, and the guard before both."""

from __future__ import annotations

import gc
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from visterm import upkeep
from visterm.errors import VistermError
from visterm.faces.web import duplicates, finding, new_words, pictures, problems, reviewing, system, teaching
from visterm.faces.web.answering import Answers
from visterm.faces.web.guard import API, Guard, Rules
from visterm.find.lists.overview import unlooked
from visterm.version import __version__
from visterm.workspace import Workspace

_STATIC = Path(str(files("visterm.faces.web") / "static"))

#: Seconds between two looks at what has not been learned; and of quiet before learning begins by itself.
_LOOK_EVERY, _QUIET = 2.0, 6.0

#: Any route may answer with these problems.
_ANY_ROUTE = (400, 401, 403, 413, 415, 421, 422, 503)


def application(photos: Workspace, rules: Rules) -> FastAPI:
    """The application over one workspace, which stays the caller's to close."""

    stopped = threading.Event()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # The first list and the thumbnails are made ready while the person waits for the browser.
        warming = threading.Thread(target=_warm_up, args=(photos, rules, stopped), daemon=True)
        learning = threading.Thread(target=_learn_by_itself, args=(photos, rules, stopped), daemon=True)
        warming.start()
        learning.start()
        yield
        stopped.set()
        warming.join()
        learning.join()

    photos.library.readers_compute = False  # what takes minutes is a job
    photos.searchers.read_files = False

    app = _Application(
        title="Visterm",
        version=__version__,
        summary="Your pictures, what people said of them, and what models suggest.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.photos, app.state.rules, app.state.answers = photos, rules, Answers()
    app.state.is_stopping = lambda: False
    problems.install(app)
    for part in (pictures, finding, teaching, reviewing, new_words, duplicates, system):
        app.include_router(part.router, prefix=API, responses=problems.documented(*_ANY_ROUTE))
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        """The page; what it shows is in the address after the #."""
        return FileResponse(_STATIC / "index.html")

    app.add_middleware(Guard, rules=rules)
    return app


class _Application(FastAPI):
    """An application whose documentation also has the forms of problems."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            super().openapi()["components"]["schemas"] |= problems.schemas()
        return super().openapi()


def _learn_by_itself(photos: Workspace, rules: Rules, stopped: threading.Event) -> None:
    """Start to learn when it is time, if the person leaves that to Visterm, and once nothing has been said for long."""
    said, since = 0, 0.0
    while not rules.read_only and not stopped.wait(_LOOK_EVERY):
        with suppress(VistermError):
            version = photos.catalogue.version()[1]
            said, since = (said, since + _LOOK_EVERY) if version == said else (version, 0.0)
            if since >= _QUIET and upkeep.unlearned.learning(photos) == "self" and photos.unlearned().due:
                photos.jobs.start("train")


def _warm_up(photos: Workspace, rules: Rules, stopped: threading.Event) -> None:
    with suppress(VistermError):  # a request will say what is wrong
        photos.gallery.page()
        gc.freeze()  # what was read stays: to look through it again for garbage would stop all requests for 0.1 s
        if not rules.read_only and unlooked(photos, photos.views.newest()).any():
            photos.jobs.start("features")
        photos.make_thumbnails(stopped)
