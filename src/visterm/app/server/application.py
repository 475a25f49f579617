"""The web application: the API under ``/api/v1``, the page, and the guard before both."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from visterm.app.gallery.thumbnails import make_thumbnails
from visterm.app.server import finding, pictures, problems, system, teaching
from visterm.app.server.guard import API, Guard, Rules
from visterm.app.workspace import Workspace
from visterm.errors import VistermError
from visterm.version import __version__

_STATIC = Path(str(files("visterm.app.server") / "static"))


def application(photos: Workspace, rules: Rules) -> FastAPI:
    """The application over one workspace, which stays the caller's to close."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # The first list and the thumbnails are made ready while the person waits for the browser.
        threading.Thread(target=_warm_up, args=(photos,), daemon=True).start()
        yield

    app = FastAPI(
        title="Visterm",
        version=__version__,
        summary="Your pictures, what people said of them, and what models suggest.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.photos, app.state.rules = photos, rules
    problems.install(app)
    for part in (pictures, finding, teaching, system):
        app.include_router(part.router, prefix=API)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        """The page; what it shows is in the address after the #."""
        return FileResponse(_STATIC / "index.html")

    app.add_middleware(Guard, rules=rules)
    return app


def _warm_up(photos: Workspace) -> None:
    with suppress(VistermError):  # a request will say what is wrong
        photos.gallery.page()
        make_thumbnails(photos)
