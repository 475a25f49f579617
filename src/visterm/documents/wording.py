"""Numbers as people read them, for the command line, contact sheets and the page."""

#: From here on, a number that should be a share is taken for a percentage; a smaller one is more likely a slip.
_LEAST_PERCENTAGE = 10


def percent(probability: float) -> str:
    """A probability for people.

    >>> percent(0.834), percent(0.002)
    ('83%', 'under 1%')
    """
    return "under 1%" if 0 < probability < 0.01 else f"{probability:.0%}"


def not_a_share(what: str, value: float) -> str:
    """What is wrong with a share that is not between 0 and 1.

    >>> not_a_share("the precision", 60.0)
    'the precision is a share between 0 and 1, not 60: did you mean 0.6?'
    >>> not_a_share("the precision", 1.5)
    'the precision is a share between 0 and 1, not 1.5'
    """
    is_percentage = _LEAST_PERCENTAGE <= value <= 100
    meant = f": did you mean {value / 100:g}?" if is_percentage else ""
    return f"{what} is a share between 0 and 1, not {value:g}{meant}"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "picture"), counted(3, "class")
    ('1 picture', '3 classes')
    """
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing}{'es' if thing.endswith('s') else 's'}"
