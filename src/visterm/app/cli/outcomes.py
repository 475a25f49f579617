"""Tells people what training with nothing named has brought."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from visterm.app.cli.output import say
from visterm.app.wording import counted, percent

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.app.choosing import Outcome, Training

#: With fewer held-out pictures than this, the line says how sure the figure is.
_FEW = 50
#: A gain that is worth telling about: half a point.
_WORTH_TELLING = 0.005


def print_training(console: Console, done: Training) -> None:
    """Print a line for each of classes, tags and search, and what would help."""
    minutes = f"{done.seconds / 60:.0f} min" if done.seconds >= 60 else f"{done.seconds:.0f} s"
    say(console, f"Trained on {done.labelled:,} labelled pictures of {done.pictures:,} ({minutes}).")
    for outcome in done.outcomes:
        if outcome.model:
            say(console, f"  {outcome.what:<8} {_said(outcome)}")
            say(console, f"           by {outcome.method} on {outcome.recipe}: {outcome.model}", style="bright_black")
    for reason in dict.fromkeys(outcome.reason for outcome in done.outcomes if not outcome.model):
        whats = " and ".join(outcome.what for outcome in done.outcomes if outcome.reason == reason)
        say(console, f"  {whats}: not learned, since {reason}", style="bright_black")
    for line in [*done.missing, *_advice(done)]:
        say(console, line)


def _said(outcome: Outcome) -> str:
    """How good it is, in words."""
    if outcome.quality is None:
        return "learned, but not measured: too few labelled pictures to hold some out"
    guessing = "" if outcome.baseline is None else f" (guessing: {percent(outcome.baseline)})"
    measured = f" on {counted(outcome.held_out, 'held-out picture')}"
    if 0 < outcome.held_out < _FEW:
        error = math.sqrt(max(outcome.quality * (1 - outcome.quality), 0.05) / outcome.held_out)
        measured += f", give or take {100 * error:.0f} points"
    bad = "; worse than guessing" if outcome.baseline is not None and outcome.quality < outcome.baseline else ""
    if outcome.what == "classes":
        return f"{percent(outcome.quality)} right{measured}{guessing}{bad}"
    if outcome.what == "search":
        first = outcome.measures.get("P@1", 0.0)
        return f"the first picture is right for {percent(first)} of queries of one to three words{bad}"
    right = outcome.measures.get("suggestions right")
    found = percent(outcome.measures.get("tags found", 0.0))
    if right is None:
        return f"nothing is likely enough to be suggested yet; 'visterm tag --best 3' shows the best guesses{bad}"
    return f"{percent(right)} of suggestions right{measured}; they cover {found} of the tags{bad}"


def _advice(done: Training) -> list[str]:
    """What to do next, what is weak, and what it would cost to do better."""
    learned = [outcome for outcome in done.outcomes if outcome.model]
    lines = []
    if any(outcome.what != "classes" for outcome in learned):
        lines.append("Next: 'visterm tag' suggests tags, 'visterm search WORDS' finds pictures.")
    elif learned:
        lines.append("Next: 'visterm classify' sorts the pictures without a class.")
    weak = [name for outcome in learned if outcome.what != "search" for name in outcome.weak[:2]]
    if weak:
        names = ", ".join(repr(name) for name in weak)
        each = " of each" if len(weak) > 1 else ""
        lines.append(f"Weak: {names}; ten more labelled pictures{each} would help most.")
    for outcome in learned:
        best = max((attempt.value for attempt in outcome.tried), default=None)
        if best is not None and outcome.half_quality is not None and best - outcome.half_quality > _WORTH_TELLING:
            gain = counted(max(1, round(100 * (best - outcome.half_quality))), "point")
            lines.append(f"Better {outcome.what}: label more pictures; the last doubling of them brought {gain}.")
    untried = sum(len(outcome.untried) for outcome in learned)
    if untried:
        lines.append(f"No time for {counted(untried, 'comparison')}: 'visterm train --choose --minutes 10' tries all.")
    return lines
