"""With a pair, pictures are found by any words before anybody has labelled one; through the library and the command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_pair import write_folder, write_zip
from typer.testing import CliRunner

from visterm.collection.text_view import text_view
from visterm.compute import Engine
from visterm.errors import InputError
from visterm.faces.cli import app
from visterm.postcards import make_postcards
from visterm.ranking.spaces.pair_space import PairSpace
from visterm.upkeep import encoders
from visterm.workspace import Workspace

pytest.importorskip("tokenizers", reason="the extra [pair] is not installed")


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Postcards that the pair has not learned from, and what is on each."""
    folder = tmp_path_factory.mktemp("others")
    make_postcards(folder, 60, engine=Engine(n_jobs=1))
    rows = [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").splitlines()]
    truth = {row["file_name"]: row for row in rows}
    (folder / "metadata.jsonl").unlink()
    return folder, truth


@pytest.fixture
def photos(others, tmp_path):
    with Workspace.create(tmp_path / "home") as workspace:
        workspace.add([others[0] / "pictures"])
        yield workspace


def average_precision(scores, fits):
    ranked = fits[np.argsort(-scores)]
    return (np.cumsum(ranked) / np.arange(1, len(ranked) + 1))[ranked].mean()


def test_pictures_without_any_label_are_found(photos, others, tiny, export):
    photos.install_encoder(export)
    view = text_view()
    photos.features(view.recipe)
    frame = photos.collection().frame
    made = photos.library.recipe(view.recipe, frame.files)
    vectors = photos.library.features(made, frame.keys)[view.recipe]
    truth = [others[1][f"pictures/{frame.files[key].name}"] for key in frame.keys]
    words = sorted({tag for one in truth for tag in one["tags"]} & set(tiny.vocabulary))
    fits = np.array([[word in one["tags"] for one in truth] for word in words])
    frequent = fits.sum(axis=1) >= 5
    words, fits = [word for word, is_frequent in zip(words, frequent, strict=True) if is_frequent], fits[frequent]
    space = PairSpace(view.encoder).fit(vectors)
    codes = space.picture_codes(vectors)
    scores = space.text_codes(words) @ codes.T
    assert len(words) > 20
    found = np.mean([average_precision(one, fit) for one, fit in zip(scores, fits, strict=True)])
    assert found > fits.mean() + 0.1
    assert scores[fits].mean() > scores[~fits].mean() + 0.2
    matches = space.text_codes([one["caption"] for one in truth]) @ codes.T
    ranks = (matches > np.diag(matches)[:, None]).sum(axis=1)
    assert np.median(ranks) < len(truth) / 4  # by chance it is one half


def test_a_model_of_texts_learns_with_the_pair(photos, others, export):
    from visterm.ranking import SentenceCCA

    photos.install_encoder(export)
    view = text_view()
    photos.features(view.recipe)
    frame = photos.collection().frame
    vectors = photos.library.features(photos.library.recipe(view.recipe, frame.files), frame.keys)[view.recipe]
    texts = [[others[1][f"pictures/{frame.files[key].name}"]["caption"]] for key in frame.keys]
    model = SentenceCCA(encoder=view.encoder, n_dims=8).fit(vectors, texts=texts)
    assert model.score_texts(vectors, ["a boat"]).shape == (1, len(vectors))
    photos.remove_encoder(view.encoder)
    with pytest.raises(InputError, match="no image-text pair 'tiny-clip' on this computer"):
        model.score_texts(vectors, ["a tree"])


def test_recipes_and_checks_name_the_pair(photos, export):
    assert "pair:tiny-clip" not in [one.name for one in photos.recipes().recipes]
    photos.install_encoder(export)
    (cost,) = (one for one in photos.recipes().recipes if one.name == "pair:tiny-clip")
    assert cost.n_dims == 16
    assert photos.doctor().encoders == ["pair:tiny-clip"]
    assert photos.doctor().problems == []
    assert [pair.name for pair in photos.encoders().pairs] == ["tiny-clip"]


@pytest.fixture
def narrow(monkeypatch):
    """Run a command on a display of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments, code=0):
        done = CliRunner().invoke(app, [str(each) for each in arguments])
        assert done.exit_code == code, done.output
        assert all(len(line) <= 80 or "/" in line for line in done.stdout.splitlines())
        return " ".join(done.output.split())

    return run


def test_the_commands(narrow, export, tmp_path):
    assert "no image-text pair is installed: texts are compared by use-multilingual-3" in narrow("encoder", "list")
    told = narrow("encoder", "install", export)
    assert "installed tiny-clip: pictures and texts as 16 numbers" in told
    assert "search by any words uses this pair from now on" in told
    assert "tiny-clip (in use): 16 numbers" in narrow("encoder", "list")
    assert "image-text pairs: pair:tiny-clip" in narrow("doctor")
    assert "give this one another name with --name" in narrow("encoder", "install", export, code=1)
    assert "installed second" in narrow("encoder", "install", export, "--name", "second")
    assert "lacks" in narrow("encoder", "install", tmp_path, code=1)
    assert "cannot be the name of a pair" in narrow("encoder", "install", export, "--name", "../x", code=2)
    assert "the pair was removed; search by any words uses pair:tiny-clip" in narrow("encoder", "remove", "second")
    assert "there is no such pair" in narrow("encoder", "remove", "second")
    document = json.loads(CliRunner().invoke(app, ["encoder", "list", "--json"]).stdout)
    assert document["in_use"] == "pair:tiny-clip"
    assert document["pairs"][0]["text_length"] == 12


def test_the_commands_of_the_page_work_in_order(narrow, tiny, tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "encoders.md").read_text(encoding="utf-8")
    commands = [shlex.split(line) for line in re.findall(r"^\$ visterm (.*)$", text, flags=re.MULTILINE)]
    assert [verb for _, verb, *_ in commands] == ["install", "install", "list", "remove"]
    write_folder(tmp_path / commands[0][2], tiny.files())
    write_zip(tmp_path / commands[1][2], tiny.files())
    monkeypatch.chdir(tmp_path)
    for command in commands:
        narrow(*command)
    assert [pair.name for pair in encoders.show().pairs] == ["clip-vit-base-patch32"]


def test_a_damaged_pair_is_told(narrow, export, encoders_folder):
    narrow("encoder", "install", export)
    (encoders_folder / "tiny-clip" / "pair.json").write_text("{}")
    assert "tiny-clip is damaged and not used: remove it with 'visterm encoder remove" in narrow("encoder", "list")
    assert "problem: the image-text pair 'tiny-clip' is damaged" in narrow("doctor", code=1)


def test_no_network_is_asked(export):
    encoders.install(export)
    program = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('a socket was opened')\n"
        "socket.socket = type('Refused', (socket.socket,), {'__init__': refuse})\n"
        "socket.create_connection = socket.getaddrinfo = refuse\n"
        "import sys, numpy as np\n"
        "from visterm.upkeep import encoders\n"
        "encoders.install(__import__('pathlib').Path(sys.argv[1]), 'again')\n"
        "from visterm.language import text_encoder\n"
        "from visterm.vision import recipe\n"
        "print(text_encoder('pair:again').encode(['a dog']).shape)\n"
        "print(recipe('pair:again').compute_batch([np.zeros((9, 9, 3), np.uint8)]).shape)\n"
        "print('huggingface_hub' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(export)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["(1, 16)", "(1, 16)", "False"]


def test_nothing_is_opened_before_the_first_text(export):
    encoders.install(export)
    program = (
        "import sys; from visterm.collection.text_view import text_view; from visterm.language import text_encoder\n"
        "text_encoder(text_view().encoder).fingerprint\n"
        "print([name for name in ('tokenizers', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
