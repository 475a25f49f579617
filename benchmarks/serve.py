"""A server over many pictures: how long a label takes, and how long eight clients wait for searches and grids.

The clients ask while new pictures are looked at, alone, and while a job trains.

The pictures are only names with random features, as in ``workspace.py``. The server is a process of its own, and so is
the training, which begins again whenever it has ended.

Run: python benchmarks/serve.py [--pictures 50000] [--seconds 30] [--clients 8] [--folder DIR]
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np

import visterm
from visterm.upkeep.jobs import Jobs
from workspace import QUERIES, build

API = "/api/v1"
#: Grids of the page: all pictures, some orders and filters.
GRIDS = ("", "sort=name", "class=class01", "tag=tag003", "state=unlabelled", "state=suggested", "sort=unsure")


def main() -> None:
    """Build the workspace, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long the clients ask, each time")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="where to keep the workspace (default: a temporary folder)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    if not (folder / ".visterm").exists():
        build(folder, arguments.pictures)
        add_network_features(folder)
    with served(folder) as (address, process):
        started = time.perf_counter()
        ask(http.client.HTTPConnection(address, timeout=600), f"{API}/pictures?limit=500")
        print(f"first grid of a new server: {time.perf_counter() - started:.2f} s")
        for query in QUERIES:
            ask(http.client.HTTPConnection(address, timeout=600), search(query))
        print(f"{'':31} {'requests':>9} {'p50':>9} {'p95':>9} {'longest':>9}  failed")
        measure("while models look", address, process.pid, arguments.clients, arguments.seconds)
        wait_for_jobs(folder)
        measure_labels(address, process.pid, (folder / ".visterm" / "token").read_text())
        measure("alone", address, process.pid, arguments.clients, arguments.seconds)
        with training(folder) as finished:
            measure("while a job trains", address, process.pid, arguments.clients, arguments.seconds)
        print(f"jobs that ended meanwhile: {len(finished)}; memory of the server: {memory(process.pid)} MB")
    print(f"load of the machine (1 minute): {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if arguments.folder is None:
        shutil.rmtree(folder, ignore_errors=True)  # the last job may still be ending


def add_network_features(folder: Path) -> None:
    """Random network features, so that nothing waits to be looked at."""
    rng = np.random.default_rng(1)
    with visterm.open(folder) as photos:
        recipe = photos.library.recipe("deep", {})
        ((output, spec),) = recipe.outputs.items()
        keys = photos.collection().frame.keys
        for start in range(0, len(keys), 5000):
            some = keys[start : start + 5000]
            photos.library.store(recipe, output).append(some, rng.random((len(some), spec.n_dims), dtype=np.float32))


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server in a process of its own: its host with its port, and the process."""
    command = [sys.executable, "-m", "visterm", "serve", "-w", str(folder), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    try:
        yield urlsplit(process.stdout.readline().split()[-1]).netloc, process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@contextmanager
def training(folder: Path) -> Iterator[list[int]]:
    """A training job that begins again whenever it has ended; the numbers of those that ended."""
    jobs, over, ended = Jobs(folder, folder / ".visterm"), threading.Event(), list[int]()

    def train() -> None:
        while not over.is_set():
            number = jobs.start("train", ["sdca", "--recipe", "colour"]).id
            while (job := jobs.job(number)).state == "running" and not over.wait(0.2):
                pass
            if job.state == "failed":
                raise RuntimeError(job.error)
            if job.state == "done":
                ended.append(number)
        for job in jobs.all():
            jobs.cancel(job.id)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        yield ended
    finally:
        over.set()
        thread.join()


def measure_labels(address: str, server: int, token: str, n: int = 200) -> None:
    """How long a client waits until its label is kept, and what that costs the server's process."""
    used = processor_seconds(server)
    connection, waited = http.client.HTTPConnection(address, timeout=600), []
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    for number in range(n):
        body = json.dumps({"ids": [number + 1], "tags": [f"tag{number % 10:03d}"]})
        started = time.perf_counter()
        connection.request("POST", f"{API}/labels", body, headers)
        answer = connection.getresponse()
        answer.read()
        waited.append(1000 * (time.perf_counter() - started))
        if answer.status != 200:
            raise RuntimeError(f"a label was answered with {answer.status}")
    p10, p50, p95 = np.quantile(waited, [0.1, 0.5, 0.95])
    print(f"a label: a tenth within {p10:.1f} ms, half within {p50:.1f} ms, 95 % within {p95:.1f} ms")
    print(f"         {1000 * (processor_seconds(server) - used) / n:.1f} ms of processor time each")


def wait_for_jobs(folder: Path) -> None:
    """Return when nothing is going on: a new server has the pictures looked at that wait for it."""
    jobs = Jobs(folder, folder / ".visterm")
    while any(job.state == "running" for job in jobs.all()):
        time.sleep(0.2)


def measure(name: str, address: str, server: int, n_clients: int, seconds: float) -> None:
    """Ask for searches and grids in turn, and print how long that took, and what it cost the server's process."""
    used = processor_seconds(server)
    waited: dict[str, list[float]] = {"search": [], "grid": []}
    failed: dict[str, list[str]] = {"search": [], "grid": []}
    ends = time.perf_counter() + seconds

    def client(number: int) -> None:
        connection = http.client.HTTPConnection(address, timeout=600)
        paths = [("search", search(query)) for query in QUERIES]
        paths += [("grid", f"{API}/pictures?limit=500&{grid}") for grid in GRIDS]
        np.random.default_rng(number).shuffle(paths)
        for kind, path in itertools.cycle(paths):
            if time.perf_counter() > ends:
                return
            started = time.perf_counter()
            status = ask(connection, path)
            waited[kind].append(time.perf_counter() - started)
            if status != 200:
                failed[kind].append(f"{status} {path}")

    threads = [threading.Thread(target=client, args=(number,)) for number in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cost = 1000 * (processor_seconds(server) - used) / sum(map(len, waited.values()))
    for kind, times in waited.items():
        p50, p95, longest = (f"{1000 * np.quantile(times, q):.0f} ms" for q in (0.5, 0.95, 1.0))
        print(f"{kind:6} {name:24} {len(times):9} {p50:>9} {p95:>9} {longest:>9}  {len(failed[kind])}")
    print(f"       {name:24} {cost:.1f} ms of processor time a request")


def search(query: str) -> str:
    """The address of a search."""
    return f"{API}/pictures?limit=200&q={quote(query)}"


def ask(connection: http.client.HTTPConnection, path: str) -> int:
    """Ask for a document and read it; the status."""
    connection.request("GET", path)
    answer = connection.getresponse()
    json.loads(answer.read())
    return answer.status


def memory(process: int) -> int:
    """The memory that a process holds, in megabytes; 0 where the system does not tell."""
    file = Path(f"/proc/{process}/status")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), 0)


def processor_seconds(process: int) -> float:
    """The processor time that a process has used; 0 where the system does not tell."""
    file = Path(f"/proc/{process}/stat")
    fields = file.read_text().rsplit(")", 1)[1].split() if file.exists() else []
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


if __name__ == "__main__":
    main()
