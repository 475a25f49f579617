"""How fast the page is with many pictures: first thumbnails, a search, scrolling. Needs Playwright and Chromium.

    python benchmarks/page.py --pictures 50000

The pictures are synthetic: small, of distinct content, with a class and tags. What is printed was measured in the
browser, on this computer, with whatever else it was doing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from visterm import open as open_workspace

TAGS = ("red", "green", "blue", "bright", "dark", "warm", "cold", "plain")
#: Milliseconds until at least `n` thumbnails on the screen are drawn.
DRAWN = """async (n) => {
  const inView = (i) => { const b = i.getBoundingClientRect(); return b.bottom > 100 && b.top < innerHeight; };
  for (;;) {
    const seen = [...document.querySelectorAll(".cell img")].filter((i) => inView(i));
    if (seen.length >= n && seen.filter((i) => i.complete && i.naturalWidth).length >= n) return performance.now();
    await new Promise(requestAnimationFrame);
  }
}"""
#: Searches; returns when that began, once the new list has come.
SEARCH = """async () => {
  const count = document.querySelector(".list-bar h1");
  const [before, started] = [count.textContent, performance.now()];
  location.hash = "#/pictures?q=red+-blue";
  while (count.textContent === before) await new Promise(requestAnimationFrame);
  return started;
}"""
#: Scrolls a screen at a time; how many cells had neither a thumbnail nor colours when they were first seen, and the
#: longest time between two frames.
SCROLL = """async (screens) => {
  const grid = document.querySelector(".grid");
  let [cells, blank, slowest, last] = [0, 0, 0, performance.now()];
  for (let i = 0; i < screens; i += 1) {
    grid.scrollTop += grid.clientHeight * 0.9;
    for (let frame = 0; frame < 6; frame += 1) {
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      slowest = Math.max(slowest, now - last);
      last = now;
      if (frame !== 1) continue;
      for (const cell of document.querySelectorAll(".cell")) {
        const box = cell.getBoundingClientRect();
        if (box.bottom < 130 || box.top > innerHeight) continue;
        const image = cell.querySelector("img");
        cells += 1;
        if (!(image?.complete && image.naturalWidth) && !cell.style.background) blank += 1;
      }
    }
  }
  return { cells, blank, slowest };
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


def measure(page: Page, url: str, thumbnails: Path, n_made: int) -> dict[str, float]:
    """Milliseconds, and shares of blank cells; these once the first ``n_made`` thumbnails are made."""
    found: dict[str, float] = {}
    for name in ("first visit", "second visit"):
        page.goto(url)
        found[f"{name}: 8 thumbnails (ms)"] = page.evaluate(DRAWN, 8)
        paints = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
        found[f"{name}: first paint (ms)"] = page.evaluate(paints)
        page.goto("about:blank")
    page.goto(url)
    page.wait_for_function("() => !document.querySelector('.cell:not([data-known])')", timeout=120_000)
    page.wait_for_function("() => document.querySelector('.list-bar h1').textContent.includes('pictures')")
    started = page.evaluate(SEARCH)
    found["search to 8 thumbnails (ms)"] = page.evaluate(DRAWN, 8) - started
    page.goto("about:blank")
    while sum(1 for _ in thumbnails.glob("*/*.webp")) < n_made:
        time.sleep(1)
    page.goto(url)
    page.evaluate(DRAWN, 8)
    scrolled = page.evaluate(SCROLL, 60)
    found["scrolling 60 screens: cells without thumbnail and colours (%)"] = 100 * scrolled["blank"] / scrolled["cells"]
    found["scrolling 60 screens: longest frame (ms)"] = scrolled["slowest"]
    return found


def main() -> None:
    """Make the collection, start the server, measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="visterm-page-") as place:
        folder = Path(place)
        started = time.process_time()
        paint(folder, asked.pictures)
        print(f"painted {asked.pictures} pictures: {time.process_time() - started:.0f} CPU s", flush=True)
        subprocess.run([sys.executable, "-m", "visterm", "init", str(folder)], check=True, stdout=subprocess.DEVNULL)
        started = time.process_time()
        with open_workspace(folder) as photos:
            photos.add()
        print(f"added: {time.process_time() - started:.0f} CPU s", flush=True)
        command = [sys.executable, "-m", "visterm", "serve", "-w", str(folder), "--no-browser", "--read-only"]
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        small = folder / ".visterm" / "thumbnails" / "small"
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            assert address is not None
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=asked.chromium, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.set_default_timeout(120_000)
                for name, value in measure(page, address.group(), small, min(asked.pictures, 3000)).items():
                    print(f"{name}: {value:.0f}", flush=True)
                browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
