"""How fast the page is with many pictures: first paint, searches, scrolling, review. Needs Playwright and Chromium.

The pictures are synthetic: small, of distinct content, with random network features; half have a class and two tags.
What is printed was measured in the browser, on this computer, with whatever else it was doing.

Run: python benchmarks/page.py [--pictures 50000] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import visterm
from serve import add_network_features, processor_seconds, served

TAGS = ("red", "green", "blue", "bright", "dark", "warm", "cold", "plain")
QUERIES = ("red -blue", "green dark", "bright OR cold", "kind 3", "plain", "warm -red -dark", "blue green", "cold")
#: The time at which at least `n` thumbnails on the screen are drawn.
DRAWN = """async (n) => {
  const inView = (i) => { const b = i.getBoundingClientRect(); return b.bottom > 100 && b.top < innerHeight; };
  for (;;) {
    const seen = [...document.querySelectorAll(".cell img")].filter((i) => inView(i));
    if (seen.filter((i) => i.complete && i.naturalWidth).length >= n) return performance.now();
    await new Promise(requestAnimationFrame);
  }
}"""
#: Searches; the time at which that began, once the new list has come.
SEARCH = """async (address) => {
  const first = document.querySelector(".cell");
  const started = performance.now();
  location.hash = address;
  while (document.contains(first)) await new Promise(requestAnimationFrame);
  return started;
}"""
#: Scrolls a screen every 100 ms. A cell is blank while it has neither a thumbnail nor colours. For every cell that came
#: into view: how long it was blank; for those that stayed until their thumbnail came: how long that took. And the
#: longest time between two frames.
SCROLL = """async (screens) => {
  const grid = document.querySelector(".grid");
  const [seen, blank, drawn] = [new Map(), new Map(), new Map()];
  let [slowest, last] = [0, performance.now()];
  for (let i = 0; i < screens; i += 1) {
    grid.scrollTop += grid.clientHeight * 0.9;
    const until = performance.now() + 100;
    do {
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      slowest = Math.max(slowest, now - last);
      last = now;
      for (const cell of document.querySelectorAll(".cell")) {
        const box = cell.getBoundingClientRect();
        if (box.bottom < 130 || box.top > innerHeight) continue;
        const [place, image] = [cell.dataset.index, cell.querySelector("img")];
        if (!seen.has(place)) seen.set(place, now);
        const ready = image?.complete && image.naturalWidth;
        if (ready && !drawn.has(place)) drawn.set(place, now - seen.get(place));
        blank.set(place, ready || cell.style.background ? blank.get(place) ?? 0 : now - seen.get(place) + 16);
      }
    } while (performance.now() < until);
  }
  return { cells: seen.size, blank: [...blank.values()], drawn: [...drawn.values()], slowest };
}"""
#: Gives the first answer as soon as the picture has been seen for a while; how long the next picture took each time.
REVIEW = """async (answers) => {
  const found = [];
  const picture = () => document.querySelector(".stage figure img");
  const drawn = (image) => image?.complete && image.naturalWidth;
  while (!drawn(picture())) await new Promise(requestAnimationFrame);
  for (let i = 0; i < answers; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const [before, started] = [picture(), performance.now()];
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", code: "Digit1", bubbles: true }));
    while (picture() === before || !drawn(picture())) await new Promise(requestAnimationFrame);
    found.push(performance.now() - started);
  }
  return found;
}"""


def paint(folder: Path, n: int) -> None:
    """Small pictures of distinct content, and what people said of them."""
    rng = np.random.default_rng(0)
    with (folder / "metadata.jsonl").open("w", encoding="utf-8") as labels:
        for i in range(n):
            if i % 1000 == 0:
                (folder / f"{i // 1000:03d}").mkdir(parents=True)
            name = f"{i // 1000:03d}/{i:06d}.jpg"
            small = rng.integers(0, 256, (3, 4, 3), dtype=np.uint8)
            size = (96, 64) if i % 3 else (64, 96)
            Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).save(folder / name, quality=80)
            said = {"file_name": name, "class": f"kind {i % 12}", "tags": [TAGS[i % 8], TAGS[i // 8 % 8]]}
            labels.write(json.dumps(said if i % 2 else {"file_name": name}) + "\n")


def build(folder: Path, n: int) -> None:
    """The collection."""
    started = time.process_time()
    folder.mkdir(parents=True, exist_ok=True)
    paint(folder, n)
    with visterm.open(folder, create=True) as photos:
        photos.add()
    add_network_features(folder)
    print(f"built {n} pictures: {time.process_time() - started:.0f} s of processor time", flush=True)


def measure_first(page: Page, url: str) -> None:
    """The page in a new browser, and again."""
    for name in ("first visit", "second visit"):
        page.goto(url)
        drawn = page.evaluate(DRAWN, 8)
        paints = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
        show(f"{name}: first paint", [paints])
        show(f"{name}: 8 thumbnails", [drawn])
        page.goto("about:blank")


def measure_searches(page: Page, url: str, name: str) -> None:
    """Searches one after the other, until the first thumbnails are there."""
    page.goto(url)
    page.evaluate(DRAWN, 8)
    page.wait_for_timeout(1000)
    taken = []
    for query in QUERIES:
        started = page.evaluate(SEARCH, f"#/pictures?q={query}")
        taken.append(page.evaluate(DRAWN, 8) - started)
        page.wait_for_timeout(300)
    show(name, taken)


def measure_scrolling(page: Page, url: str, thumbnails: Path, n_made: int) -> None:
    """Scrolling, once the first ``n_made`` thumbnails are made."""
    while sum(1 for _ in thumbnails.glob("*/*.webp")) < n_made:
        time.sleep(1)
    page.goto(url)
    page.evaluate(DRAWN, 8)
    scrolled = page.evaluate(SCROLL, 60)
    blank = np.array(scrolled["blank"])
    long = int((blank > 100).sum())
    print(f"scrolling 60 screens: {long} of {scrolled['cells']} cells blank for more than 100 ms", flush=True)
    show("scrolling: a cell is blank", scrolled["blank"])
    show("scrolling: a cell has its thumbnail", scrolled["drawn"])
    show("scrolling: longest frame", [scrolled["slowest"]])


def measure_review(page: Page, url: str) -> None:
    """Answers by key."""
    started = time.perf_counter()
    page.goto(f"{url}#/review/teach")
    page.wait_for_selector(".stage figure img")
    show("review: first question", [1000 * (time.perf_counter() - started)])
    show("review: key press to the next picture", page.evaluate(REVIEW, 40))


def show(name: str, milliseconds: list[float]) -> None:
    """One line of the table."""
    if len(milliseconds) == 1:
        print(f"{name:48} {milliseconds[0]:6.0f} ms", flush=True)
        return
    p50, p95, longest = np.quantile(milliseconds, (0.5, 0.95, 1.0))
    print(f"{name:48} {p50:6.0f} ms, p95 {p95:.0f} ms, longest {longest:.0f} ms ({len(milliseconds)})", flush=True)


def new_page(browser: Browser) -> Page:
    """A page in a browser that has nothing in its cache."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(120_000)
    return page


def main() -> None:
    """Make the collection, start the server, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--folder", type=Path, help="where to keep the collection (default: a temporary folder)")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="visterm-page-"))
    if not (folder / ".visterm").exists():
        build(folder, asked.pictures)
    with served(folder) as (address, process), sync_playwright() as playwright:
        url = f"http://{address}/"
        browser = playwright.chromium.launch(executable_path=asked.chromium, args=["--no-sandbox"])
        page = new_page(browser)
        measure_first(page, url)
        measure_searches(page, url, "search to 8 thumbnails, not made yet")
        page.context.close()
        page = new_page(browser)
        measure_searches(page, url, "search to 8 thumbnails, server warm")
        measure_scrolling(page, url, folder / ".visterm" / "thumbnails" / "small", min(asked.pictures, 3000))
        measure_review(page, url)
        browser.close()
        print(f"server: {processor_seconds(process.pid):.0f} s of processor time")
    print(f"load of the machine (1 minute): {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if asked.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
