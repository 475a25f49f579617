"""The parts that a collection may come divided into: train, validation, test."""

_SYNONYMS = {"training": "train", "testing": "test", "val": "validation", "valid": "validation", "dev": "validation"}


def canonical(part: str) -> str:
    """The usual name of a part: lower case, without synonyms."""
    part = part.strip().lower()
    return _SYNONYMS.get(part, part)


def is_test(part: str | None) -> bool:
    """Whether a picture of this part came marked as a test picture."""
    return part is not None and canonical(part) == "test"
