"""Tells people how good what was learned is; every command uses the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from visterm import catalogue, learn
from visterm.documents.figure import Figure
from visterm.documents.wording import counted, percent
from visterm.faces.cli.output import say

#: Where the words begin that follow the name of a task.
_INDENT = 11
#: Pictures left out that are named.
_NAMED = 3

#: A gain that is worth telling about: half a point.
_WORTH_TELLING = 0.005
#: And a share of pictures that belong to no labelled class.
_STRANGE = 0.05


def print_training(done: learn.Training) -> None:
    """Print a line for each of classes, tags and search, and what would help."""
    minutes = f"{done.seconds / 60:.0f} min" if done.seconds >= 60 else f"{done.seconds:.0f} s"
    say(f"Trained on {done.labelled:,} labelled pictures of {done.pictures:,} ({minutes}).")
    for outcome in done.outcomes:
        if outcome.model:
            say(f"  {outcome.what:<8} {outcome.figure.words if outcome.figure else ''}", indent=_INDENT)
            near = f" with {outcome.landmarks:,} landmarks" if outcome.landmarks else ""
            by = f"by {outcome.method}{near} on {outcome.recipe}: {outcome.model}"
            by += f" ({outcome.why})" if outcome.why else ""
            say(f"{' ' * _INDENT}{by}", style="bright_black", indent=_INDENT)
    if done.any_words is not None:
        say(f"  {'words':<8} {_of_any_words(done.any_words)}", indent=_INDENT)
    for reason in dict.fromkeys(outcome.reason for outcome in done.outcomes if not outcome.model):
        whats = " and ".join(outcome.what for outcome in done.outcomes if outcome.reason == reason)
        say(f"  {whats}: not learned, since {reason}", style="bright_black")
    print_left_out(done.left_out)
    print_earlier(done.earlier)
    for line in [*done.missing, *_advice(done)]:
        say(line)


def _of_any_words(learned: learn.AnyWordsLearned) -> str:
    """What search by any words can do."""
    if learned.found is None:
        return "search also takes sentences and words that nobody used here"
    return (
        f"search takes any sentence: of {learned.among} pictures, the right one is among the first ten for "
        f"{learned.found:.0%} of {learned.asked} sentences that it had not learned"
    )


def print_figures(figures: Iterable[Figure]) -> None:
    """Print how good models are, a line for each of classes, tags and search."""
    for each in figures:
        say(f"  {each.what:<8} {each.words}", indent=_INDENT)


def print_replaced(replaced: Sequence[learn.training.Replacement]) -> None:
    """Print which model is now used for what, and which was before."""
    tasks: dict[tuple[str, str | None], list[str]] = {}
    for each in replaced:
        tasks.setdefault((each.model, each.before), []).append(each.task)
    for (model, before), done in tasks.items():
        say(f"{model} is now used to {' and '.join(done)}{f' (was {before})' if before else ''}.")


def print_left_out(left_out: Sequence[catalogue.Skipped]) -> None:
    """Print how many pictures were left out, the first of them, and why."""
    if left_out:
        shown = "; ".join(f"{Path(skipped.where).name}: {skipped.reason}" for skipped in left_out[:_NAMED])
        more = f"; and {len(left_out) - _NAMED} more (--json lists them)" if len(left_out) > _NAMED else ""
        say(f"Left out: {counted(len(left_out), 'picture')} ({shown}{more}).", style="yellow")


def print_earlier(earlier: Mapping[str, int]) -> None:
    """Print that suggestions of earlier versions are still there, and what replaces them."""
    if earlier:
        kept = " and ".join(f"{number} of {model}" for model, number in earlier.items())
        again = "'visterm tag --write' and 'visterm classify --write' replace them"
        say(f"Earlier models made the suggestions kept so far ({kept}): {again}.", style="yellow")


def _advice(done: learn.Training) -> list[str]:
    """What to do next, what is weak, and what it would cost to do better."""
    learned = [outcome for outcome in done.outcomes if outcome.model]
    lines = []
    if any(outcome.what != "classes" for outcome in learned):
        lines.append("Next: 'visterm tag' suggests tags, 'visterm search WORDS' finds pictures.")
    elif learned:
        lines.append("Next: 'visterm classify' sorts the pictures without a class.")
    for outcome in learned:
        if outcome.few:
            names = ", ".join(repr(name) for name in outcome.few[:_NAMED])
            more = f" and {len(outcome.few) - _NAMED} more" if len(outcome.few) > _NAMED else ""
            lines.append(f"Few labels: label five pictures of {names}{more}; 'visterm serve' asks for the most useful.")
        if outcome.none_of_these >= _STRANGE:
            share = percent(outcome.none_of_these)
            lines.append(
                f"Unknown: {share} of the pictures seem to belong to none of these classes; label some of them."
            )
    weak = [name for outcome in learned if outcome.what != "search" for name in outcome.weak[:2]]
    if weak:
        names = ", ".join(repr(name) for name in weak)
        each = " of each" if len(weak) > 1 else ""
        lines.append(f"Weak: {names}; ten more labelled pictures{each} would help most.")
    for outcome in learned:
        best = max((attempt.value for attempt in outcome.tried), default=None)
        if best is not None and outcome.half_quality is not None and best - outcome.half_quality > _WORTH_TELLING:
            gain = counted(max(1, round(100 * (best - outcome.half_quality))), "point")
            lines.append(f"Better {outcome.what}: label more pictures; doubling their number last gained {gain}.")
    untried = sum(len(outcome.untried) for outcome in learned)
    if untried:
        lines.append(
            f"{counted(untried, 'comparison')} did not fit in: 'visterm train --choose --minutes 10' makes all."
        )
    return lines
