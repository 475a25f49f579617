"""Sequences of everyday commands, drawn by hypothesis, against a model of what should be true (``expected.py``).

    python tests/attacks/model.py -n 10000 --seed 0       prints progress, and a shortest sequence that fails
    python tests/attacks/model.py -n 20 --processes       the command line in processes of its own
    python tests/attacks/model.py --play LOG              plays the sequences again that are in what it printed

A sequence adds pictures, changes, moves, copies, swaps and deletes files, labels, denies, clears, accepts suggestions,
imports a table with changed rows, edits the vocabulary, removes pictures and adds them again, undoes and redoes, makes
and restores backups, and takes the labels to a second workspace by an export. Each command goes through Python, the
command line or the REST API. After each, every statement in the catalogue with its source, the vocabulary, the counts
and a search must be as the model says; at the end, all three faces must agree with it in all of this.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from model_steps import Difference, Draw, Sequences

from visterm.learn import any_words

#: The steps, and how often each is drawn.
WEIGHTS = {
    "label": 7,
    "change_files": 5,
    "add": 4,
    "undo": 4,
    "redo": 2,
    "merge": 3,
    "merge_forms": 1,
    "restore": 3,
    "rename": 2,
    "drop": 1,
    "remove": 2,
    "change_table": 3,
    "clear": 2,
    "suggest": 2,
    "accept": 1,
    "as_new": 1,
    "back_up": 2,
    "take_away": 1,
}
#: Begins the line of what is printed that can be played again.
_PLAYED = "played: "
_VERBS = [verb for verb, weight in WEIGHTS.items() for _ in range(weight)]


def sequences(n_steps: int) -> st.SearchStrategy[list[Draw]]:
    """Sequences of up to ``n_steps`` steps; a step is a verb and four numbers that choose."""
    digit = st.integers(0, 11)
    step = st.tuples(st.sampled_from(_VERBS), digit, digit, digit, st.integers(0, 2))
    return st.integers(1, n_steps).flatmap(lambda n: st.lists(step, min_size=n, max_size=n))


def play(draws: Sequence[Draw], *, processes: bool = False) -> None:
    """One sequence in a folder of its own; a difference says what was done."""
    memory = Path("/dev/shm")
    told_only = patch.object(any_words, "PATIENCE", -1.0)  # what pictures look like takes long, and is no statement
    with told_only, tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        sequence = Sequences(Path(place), processes=processes)
        try:
            for draw in draws:
                sequence.take(draw)
            sequence.finish()
        except Exception as error:
            lines = [f"{number}. {line}" for number, line in enumerate(sequence.trace, start=1)]
            what = str(error) if isinstance(error, Difference) else f"{type(error).__name__}: {error}"
            told = "\n".join([what, *lines, f"{_PLAYED}{list(draws)}"])
            raise Difference(told).with_traceback(error.__traceback__) from error
        finally:
            sequence.close()


def attack(n: int, seed: int, *, n_steps: int = 24, processes: bool = False, progress: bool = False) -> int:
    """Play ``n`` sequences; raises the shortest difference found. Returns how many were played."""
    played, began = 0, time.monotonic()

    @seeded(seed)
    @settings(
        max_examples=n,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(sequences(n_steps))
    def run(draws: list[Draw]) -> None:
        nonlocal played
        played += 1
        if progress and played % 100 == 0:
            print(f"{played} of {n} sequences, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        play(draws, processes=processes)

    run()
    return played


def play_again(text: str) -> int:
    """Play the sequences that are in ``text``; prints the differences that are still found, and returns how many."""
    n_differences = 0
    for line in text.splitlines():
        if line.startswith(_PLAYED):
            try:
                play(ast.literal_eval(line.removeprefix(_PLAYED)))
            except Difference as found:
                n_differences += 1
                print(found)
    return n_differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=10_000, help="sequences")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=24, help="steps of the longest sequence")
    parser.add_argument("--processes", action="store_true", help="the command line in processes of its own")
    parser.add_argument("--play", type=Path, metavar="LOG", help="play the sequences again that were printed")
    chosen = parser.parse_args()
    if chosen.play is not None:
        return int(play_again(chosen.play.read_text()) > 0)
    try:
        n = attack(chosen.n, chosen.seed, n_steps=chosen.steps, processes=chosen.processes, progress=True)
    except Difference as found:
        print(f"The program and the model differ.\n{found}")
        return 1
    print(f"{n} sequences, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
