"""Made the golden workspace: a small collection, every kind of trained model, and what Visterm answered from them.

Visterm 0.1.0 (f76b183) made ``workspace.tar.xz`` and ``expected.json`` with this script. It is kept to show where they
come from. It must not be run again with a later version: the files are there to tell whether later versions still open
what this one wrote.

    python tests/golden/make_golden.py NEW_FOLDER
"""

from __future__ import annotations

import io
import json
import lzma
import os
import shutil
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from typer.testing import CliRunner
from visterm.collection.postcards import make_postcards

from visterm import __version__
from visterm.compute.parallel import Engine
from visterm.faces.cli import app

VERSION = "0.1.0"
#: Every file is as old as this, so that the catalogue knows the pictures again after they were unpacked.
MADE = 1_700_000_000
N_PICTURES = 48
SIZE = (160, 120)
QUALITY = 65
VISITOR = "visitor.png"
N_BEST = 3

BAG, COLOUR, HUE, GLOBALS, REGIONS = "bow-240", "colour", "hue-100", "globals", "regions-500"
#: Name, method, recipe, parameters: every method, and what it stores with other parameters.
MODELS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("majority-class", "majority-class", COLOUR, {}),
    ("majority-class-globals", "majority-class", GLOBALS, {}),
    ("tag-frequency", "tag-frequency", COLOUR, {}),
    ("knn", "knn", BAG, {"n_neighbors": 4}),
    ("knn-colour", "knn", COLOUR, {"n_neighbors": 3, "metric": "chi2"}),
    ("knn-tags", "knn-tags", BAG, {"n_neighbors": 5}),
    ("knn-tags-auto", "knn-tags", COLOUR, {"n_neighbors": "auto", "metric": "euclidean", "shrinkage": 1.0}),
    ("sdca", "sdca", BAG, {}),
    ("sdca-linear", "sdca", COLOUR, {"kernel": "linear", "loss": "squared_hinge", "class_weight": "balanced"}),
    ("sdca-product", "sdca", f"{COLOUR}+{HUE}", {"kernel": "product"}),
    ("sdca-weighted", "sdca", f"{COLOUR}+{HUE}", {"kernel": "weighted-product:0.5"}),
    ("sdca-stacked", "sdca-stacked", COLOUR, {}),
    ("sdca-top-k", "sdca-top-k", BAG, {"k": 3}),
    ("mtl-sdca", "mtl-sdca", HUE, {}),
    ("mtl-sdca-linear", "mtl-sdca", HUE, {"kernel": "linear", "n_dims": 4}),
    ("ridge-tags", "ridge-tags", COLOUR, {}),
    ("ridge-tags-several", "ridge-tags", f"{COLOUR}+{HUE}", {"kernel": "product"}),
    ("slda", "slda", BAG, {"n_topics": 5, "max_iter": 10}),
    ("slda-committee", "slda-committee", HUE, {"n_topics": 4, "n_members": 2}),
    ("corr-lda", "corr-lda", BAG, {"n_topics": 5, "max_iter": 10}),
    ("link-lda", "link-lda", BAG, {"n_topics": 5, "learn_alpha": True}),
    ("plsa", "plsa", BAG, {"n_topics": 5}),
    ("plsa-words", "plsa-words", BAG, {"n_topics": 5}),
    ("unigram-mixture", "unigram-mixture", BAG, {"n_topics": 5}),
    ("theme-lda", "theme-lda", HUE, {"n_topics": 4, "max_iter": 10}),
    ("topic-neighbours", "topic-neighbours", HUE, {"n_topics": 5, "n_neighbors": 3}),
    ("graph-mixture", "graph-mixture", BAG, {"n_topics": 5, "n_neighbors": 4}),
    ("graph-mixture-fixed", "graph-mixture", HUE, {"n_topics": 4, "n_neighbors": 4, "strength": 1.0}),
    ("label-propagation", "label-propagation", BAG, {"n_neighbors": 4}),
    ("ccd2", "ccd2", HUE, {"n_dims": 6, "n_neighbors": 5}),
    ("ccd2-coded", "ccd2", HUE, {"n_dims": 8, "n_neighbors": 5, "code_bytes": 4}),
    ("ccd2-kernel", "ccd2", f"{COLOUR}+{HUE}", {"n_dims": 6, "n_neighbors": 5, "kernel": "auto"}),
    ("cca", "ccd2", HUE, {"subspace": "cca", "n_dims": 5, "n_neighbors": 5}),
    ("pls", "ccd2", HUE, {"subspace": "pls", "n_dims": 5, "n_neighbors": 5}),
    ("npls", "ccd2", HUE, {"subspace": "npls", "n_dims": 5, "n_neighbors": 5}),
    ("pca", "ccd2", HUE, {"subspace": "pcaw", "n_dims": 5, "n_neighbors": 5}),
    ("kernel-ccd", "kernel-ccd", f"{COLOUR}+{HUE}", {"n_dims": 6, "n_neighbors": 8, "n_components": 12}),
    ("kernel-ccd-sigmoids", "kernel-ccd", HUE, {"n_dims": 6, "n_neighbors": 8, "sigmoids": True, "n_folds": 2}),
    ("jec", "jec", f"{COLOUR}+{HUE}", {}),
    ("tagprop", "tagprop-rare", f"{COLOUR}+{HUE}", {"n_neighbors": 10, "max_iter": 10}),
    ("tagprop-rank", "tagprop-rare", BAG, {"n_neighbors": 8, "max_iter": 10, "weighting": "rank", "sigmoids": False}),
    ("two-pass-knn", "two-pass-knn-likelihood", f"{COLOUR}+{HUE}", {"max_iter": 10}),
    ("two-pass-knn-sigmoids", "two-pass-knn-likelihood", REGIONS, {"max_iter": 10, "sigmoids": True}),
    ("pamir", "pamir-warp", BAG, {"n_steps": 5000}),
    ("pamir-linear", "pamir", HUE, {"n_steps": 5000, "kernel": "linear", "loss": "hinge"}),
    ("cmrm", "cmrm", BAG, {}),
    ("cmtt", "cmtt", REGIONS, {"n_singular_values": 8}),
    ("concept-svm", "concept-svm", BAG, {}),
    ("caption-ridge", "caption-ridge", BAG, {}),
]
#: Searches whose indexes are kept; all other indexes are made again from the models.
SEARCHES: list[list[str]] = [
    ["sky", "tree", "-m", "knn-tags", "--all", "-n", "30"],
    ["boat", "-m", "slda"],
    ["boat OR car", "-m", "knn-tags", "--all"],
    ["tree", "-person", "-m", "caption-ridge", "--all", "-n", "30"],
    ["(boat OR house) sky^2 -snow", "-m", "caption-ridge", "--all", "-n", "30"],
    ["class:coast", "sky", "-m", "slda", "--all", "-n", "15"],
    ["tag:shrub", "-m", "knn-tags", "--all"],
    ["like:postcards/pictures/0005.jpg", "tree", "-m", "knn-tags", "--all"],
    ["filename:000*", "sky", "-m", "knn-tags", "--all"],
    ["caption:house", "-m", "ccd2", "--all"],
    ["beach sea", "-m", "ccd2", "--all"],
    ["tre", "xylophone", "-m", "knn-tags"],
]
#: Asked of every model that can search. Its index is not kept, so that the model and its relevance answer.
ASKED_OF_EVERY_MODEL = ["house", "snow", "--all", "-n", "20"]
SIMILAR: list[list[str]] = [
    ["postcards/pictures/0005.jpg", "-r", "colour", "-n", "8"],
    ["postcards/pictures/0005.jpg", "-r", "bow-240", "-n", "8"],
    ["postcards/pictures/0005.jpg", "-m", "ccd2", "-n", "8"],
    [VISITOR, "-r", "colour", "-n", "8"],
    [VISITOR, "-m", "kernel-ccd", "-n", "8"],
]
#: Too large to be kept: models on these features are asked about the visitor alone.
DROPPED_FEATURES = (f"{GLOBALS}.",)
KEPT_INDEXES = ("knn-tags@", "caption-ridge@", "slda@", "ccd2@")


def visterm(*arguments: object) -> Any:
    """Run a command in the current folder and read its document."""
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    if done.exit_code:
        raise SystemExit(f"{arguments}: exit code {done.exit_code}\n{done.stdout}\n{done.stderr}\n{done.exception!r}")
    return json.loads(done.stdout)


def make_collection(folder: Path) -> None:
    """Postcards made small, one file that is no picture, one copy, and a picture that stays outside."""
    cards = folder / "postcards"
    make_postcards(cards, N_PICTURES + 2, engine=Engine(n_jobs=1))
    for name in ("truth.jsonl", "postcards.json", "README.md"):
        (cards / name).unlink()
    for file in sorted((cards / "pictures").iterdir()):
        with Image.open(file) as picture:
            small = picture.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)
            scale = SIZE[0] / picture.width
        small.save(file, quality=QUALITY, optimize=True)
    # The last one is only asked about. PNG: every decoder reads the same numbers from it.
    last = cards / "pictures" / f"{N_PICTURES + 1:04d}.jpg"
    with Image.open(last) as picture:
        picture.quantize(64, dither=Image.Dither.NONE).convert("RGB").save(folder / VISITOR, optimize=True)
    last.unlink()
    rows = [json.loads(line) for line in (cards / "metadata.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        for region in row.get("regions", ()):
            region["box"] = [round(scale * number, 1) for number in region["box"]]
    lines = [json.dumps(row) + "\n" for row in rows[: N_PICTURES + 1]]
    (cards / "metadata.jsonl").write_text("".join(lines), encoding="utf-8")
    (cards / "copies").mkdir()
    shutil.copy(cards / "pictures" / "0002.jpg", cards / "copies" / "two again.jpg")
    (cards / "pictures" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    for file in folder.rglob("*"):
        os.utime(file, (MADE, MADE))


def make_workspace(folder: Path) -> None:
    """Everything that leaves a trace in the workspace: labels, edits, features, models, suggestions, indexes."""
    visterm("init", folder)
    visterm("add", "postcards")
    visterm("features", COLOUR)
    # One picture is lost: its labels stay.
    (folder / "postcards" / "pictures" / f"{N_PICTURES:04d}.jpg").unlink()
    visterm("add", "postcards")
    visterm("vocabulary", "rename", "bush", "shrub")
    visterm("vocabulary", "merge", "pine", "tree", "--into", "tree")
    visterm("vocabulary", "drop", "cloud")
    visterm("vocabulary", "drop", "window")
    visterm("vocabulary", "restore", "window")
    visterm("vocabulary", "rename", "winter", "winter land", "--kind", "class")
    picture = "postcards/pictures/{:04d}.jpg".format
    visterm("label", picture(0), "--tag", "favourite", "--tag", "Zürich", "--no-tag", "snow")
    visterm("label", picture(1), "--tag", "favourite", "--no-tag", "snowman")
    visterm("label", picture(2), "--class", "town", "--no-tag", "car")
    visterm("label", picture(7), "--class", "coast", "--tag", "boat")
    visterm("features", BAG, HUE, REGIONS)
    for name, method, recipe, parameters in MODELS:
        settings = [part for key, value in parameters.items() for part in ("--set", f"{key}={json.dumps(value)}")]
        visterm("train", method, "--name", name, "--recipe", recipe, *settings)
    visterm("train", "knn", "--set", "n_neighbors=2")  # a second version
    visterm("classify", "-m", "slda", "--write")
    visterm("tag", "-m", "knn-tags", "-k", 4, "--write")


def digits(number: float) -> float:
    """Six digits of a number."""
    return float(f"{number:.6g}")


def labels(document: Any) -> dict[str, list[tuple[str, float]]]:
    """What classify and tag answered, by picture."""
    return {
        answer["path"]: [(label["name"], digits(label["score"])) for label in answer["labels"]]
        for answer in document["answers"]
    }


def found(document: Any) -> list[tuple[str, float]]:
    """What search and similar found."""
    return [(item["path"], digits(item["score"])) for item in document["found"]]


def ask(folder: Path) -> dict[str, Any]:
    """What this version answers from the workspace."""
    infos = visterm("models")["models"]
    answers: dict[str, dict[str, Any]] = {}
    for info in infos:
        reference = f"{info['name']}@{info['version']}"
        said = answers[reference] = {}
        for verb in ("classify", "tag"):
            if verb in info["tasks"]:
                said[verb] = labels(visterm(verb, VISITOR, "-m", reference))
                if info["recipe"] != GLOBALS:
                    said[verb] |= labels(visterm(verb, "-m", reference, "-k", N_BEST))
        if info["tags"]:
            said["search"] = found(visterm("search", *ASKED_OF_EVERY_MODEL, "-m", reference))
    searches = []
    for arguments in SEARCHES:
        document = visterm("search", *arguments)
        kept = {key: document[key] for key in ("unknown", "taken_as", "n_likely")}
        told = [item["path"] for item in document["found"] if item["told"]]
        searches.append({"arguments": arguments, **kept, "told": told, "found": found(document)})
    similar = [{"arguments": arguments, "found": found(visterm("similar", *arguments))} for arguments in SIMILAR]
    status = visterm("status")
    for key in ("workspace", "models"):
        status.pop(key, None)
    status["unreadable"] = [{"path": item["path"]} for item in status["unreadable"]]
    export = folder.parent / "labels.jsonl"
    visterm("export", export, "--format", "jsonl")
    kept = ("name", "version", "method", "tasks", "recipe", "metrics", "floor_metrics")
    return {
        "made_by": f"visterm {__version__}",
        "visitor": VISITOR,
        "n_best": N_BEST,
        "asked_of_every_model": ASKED_OF_EVERY_MODEL,
        "status": status,
        "vocabulary": visterm("vocabulary"),
        "models": [{key: info[key] for key in kept} for info in infos],
        "export": [json.loads(line) for line in export.read_text(encoding="utf-8").splitlines()],
        "features": [{key: item[key] for key in ("name", "n_dims")} for item in visterm("features")["recipes"]],
        "searches": searches,
        "similar": similar,
        "answers": answers,
    }


def text_of(value: Any, depth: int = 0) -> str:
    """JSON with a line for each entry of the upper levels."""
    if depth < 3 and value and isinstance(value, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {text_of(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if depth < 2 and value and isinstance(value, list):
        return "[\n" + ",\n".join(text_of(item, 3) for item in value) + "\n]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pack(folder: Path, file: Path) -> None:
    """Write the folder as a tar of sorted files without owners, all equally old."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        # By suffix and name, so that what is alike lies together.
        for path in sorted(folder.rglob("*"), key=lambda path: (path.suffix, path.name, str(path))):
            if not path.is_file():
                continue
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mtime, entry.mode = path.stat().st_size, MADE, 0o644
            tar.addfile(entry, io.BytesIO(path.read_bytes()))
    file.write_bytes(lzma.compress(data.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def main() -> None:
    """Write ``workspace.tar.xz`` and ``expected.json`` into a new folder."""
    if __version__ != VERSION:
        raise SystemExit(f"this is visterm {__version__}: the golden workspace is that of {VERSION}, and stays")
    target = Path(sys.argv[1]).absolute()
    target.mkdir(parents=True, exist_ok=True)
    if (target / "workspace.tar.xz").exists():
        raise SystemExit(f"{target} has a golden workspace already")
    with TemporaryDirectory() as temporary:
        os.environ["XDG_DATA_HOME"] = temporary
        folder = Path(temporary) / "golden"
        folder.mkdir()
        os.chdir(folder)
        make_collection(folder)
        make_workspace(folder)
        expected = ask(folder)
        state = folder / ".visterm"
        for index in (state / "index").iterdir():
            if not index.name.startswith(KEPT_INDEXES):
                shutil.rmtree(index)
        for store in (state / "features").iterdir():
            if store.name.startswith(DROPPED_FEATURES):
                shutil.rmtree(store)
        if list(state.glob("catalogue.sqlite-*")):
            raise SystemExit("the catalogue is still open")
        (target / "expected.json").write_text(text_of(expected), encoding="utf-8")
        pack(folder, target / "workspace.tar.xz")
        os.chdir(target)


if __name__ == "__main__":
    main()
