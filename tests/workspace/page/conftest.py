"""The page in a real browser: a server over a small collection, and Chromium steered by Playwright."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from visterm.faces.web.guard import cookie_name
from visterm.learn import choosing
from visterm.workspace import Workspace

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
TOKEN = "the-token-of-this-workspace"
#: The machine may be busy; nothing waits this long unless it is broken.
MILLISECONDS = 30_000


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Chromium, if it and Playwright are there."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this computer")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def taught(tmp_path_factory, postcards) -> Path:
    """Fifty postcards, trained with quick features and looked at by the network; read only."""
    folder = tmp_path_factory.mktemp("taught") / "postcards"
    with pytest.MonkeyPatch.context() as patch, Workspace.create(folder) as photos:
        patch.setattr(choosing, "RECIPES", ("colour",))
        photos.add([postcards])
        photos.train()
        photos.features(for_models=True)
    return folder


@pytest.fixture
def collection(taught, tmp_path) -> Path:
    """A copy of the trained collection that a test may change."""
    return Path(shutil.copytree(taught, tmp_path / "postcards"))


@pytest.fixture
def classed(collection) -> Path:
    """The same without tags."""
    with Workspace(collection) as photos:
        photos.drop([term.name for term in photos.vocabulary().tag.terms])
    return collection


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server over a workspace."""
    import uvicorn

    from visterm.faces.web.application import application
    from visterm.faces.web.guard import LOOPBACK, Rules

    with Workspace(folder) as photos, socket.create_server(("127.0.0.1", 0)) as listening:
        app = application(photos, Rules(frozenset(LOOPBACK), TOKEN, open_reading=True))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(20)


@dataclass
class Shown:
    """A page in the browser, and what went wrong in it."""

    page: Any
    url: str
    faults: list[str] = field(default_factory=list)

    def go(self, where: str = "#/pictures") -> None:
        """Open a view by its address."""
        self.page.goto(self.url + where)
        self.page.wait_for_selector("html[data-ready]", timeout=MILLISECONDS)

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def sees(self, selector: str, text: str | None = None) -> Any:
        """The first element that can be seen, once it is there and has the text."""
        found = self.page.locator(selector).filter(visible=True)
        if text is not None:
            found = found.filter(has_text=text)
        found.first.wait_for(timeout=MILLISECONDS)
        return found.first

    def until(self, expression: str, argument: object = None) -> None:
        """Wait until an expression of the page is true, or the promise that it gives.

        Playwright's own ``wait_for_function`` takes a promise for true before it is kept.
        """
        end = time.monotonic() + MILLISECONDS / 1000
        while not self._true(expression, argument):
            assert time.monotonic() < end, f"never true: {expression}"
            self.page.wait_for_timeout(20)

    def _true(self, expression: str, argument: object) -> bool:
        try:
            return bool(self.page.evaluate(expression, argument))
        except Exception as error:
            if "context was destroyed" in str(error):  # the page was left meanwhile
                return False
            raise

    def forgive(self, part: str) -> None:
        """Leave out faults that a test causes on purpose."""
        self.faults[:] = [fault for fault in self.faults if part not in fault]


Opening = Callable[..., Shown]


@pytest.fixture
def opened(browser) -> Iterator[Opening]:
    """Open the page over a workspace; nothing may go wrong in it until the test ends."""
    shown = []
    with ExitStack() as stack:

        def open_(
            folder: Path | None = None, url: str | None = None, token: str | None = TOKEN, **options: Any
        ) -> Shown:
            address = url or stack.enter_context(served(folder))
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
            stack.callback(context.close)
            if token is not None:
                cookie = {"name": cookie_name(urlsplit(address).netloc), "value": token, "path": "/api/"}
                context.add_cookies([{**cookie, "domain": "127.0.0.1", "httpOnly": True, "sameSite": "Strict"}])
            page = context.new_page()
            page.set_default_timeout(MILLISECONDS)
            one = Shown(page, address)
            shown.append(one)
            page.on("console", lambda said: said.type == "error" and one.faults.append(f"console: {said.text}"))
            page.on("pageerror", lambda error: one.faults.append(f"error: {error}"))
            page.on("response", lambda got: got.status >= 400 and one.faults.append(f"{got.status}: {got.url}"))
            page.on(
                "requestfailed",
                # what the page itself gave up, because the person went on, is no fault
                lambda lost: "ERR_ABORTED" in (lost.failure or "") or one.faults.append(f"{lost.failure}: {lost.url}"),
            )
            return one

        yield open_
    assert [fault for one in shown for fault in one.faults] == []
