"""Text whose character set nobody declared, as old programs leave it in IPTC and EXIF: UTF-8, or a reasoned guess.

Bytes that are valid UTF-8 are UTF-8: text in another set almost never is. Otherwise the candidates are the three
sets that European versions of Windows used. Each language written with them has its own letters beyond ASCII, and they
follow each other rarely (Western, Central European) or nearly always (Cyrillic). The set
of the language under which the text is most probable is taken, and :class:`Decoded` tells that it is a guess.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

#: The candidates: name for people, and the letters beyond ASCII of their languages, most frequent first.
_CANDIDATES = {
    "cp1252": (
        "Western European",
        (
            "éèàêçâîôûïëùœ",
            "äüöß",
            "áéíóúñü",
            "áãçéíóâêõúàô",
            "àòèùìé",
            "ëéïèüö",
            "åäöé",
            "øæåé",
            "áíðéóæöúþý",
            "àéèíóòúçïü",
        ),
    ),
    "cp1250": (
        "Central European",
        ("łśóąęćżńź", "áíéýčšžěřůúťňďó", "áíéčšžýúťľňôďäĺŕó", "áéöóőüíúű", "ăţşâî", "čšžćđ"),
    ),
    "cp1251": (
        "Cyrillic",
        ("оаеинтрвлскмпудзбягчхьшйцжюъщфыёэ", "оаинтревлскмпудзбягчіхьшйцжюєїщфґ", "аоиентрвлскмпудзбгчхшцжфјќњѓџѕљ"),
    ),
}
#: How often such a letter follows another one, measured on dictionaries.
_RUNS = {"cp1252": 0.03, "cp1250": 0.07, "cp1251": 0.97}
#: How much more often undeclared text is Western European than the others.
_PRIOR = {"cp1252": 3.0, "cp1250": 1.0, "cp1251": 1.0}
_STRANGE = 1e-4
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Texts, and the name of the character set if it is a guess."""

    texts: list[str]
    guess: str | None = None


def decode_undeclared(values: Sequence[bytes], *, cut_at: int | None = None) -> Decoded:
    """The texts of ``values``, which one program wrote, in the one set that explains them best.

    A value of at least ``cut_at`` - 3 bytes may be cut inside its last letter.

    >>> decode_undeclared(["Łódź".encode("cp1250"), b"rzeka"])
    Decoded(texts=['Łódź', 'rzeka'], guess='Central European')
    """
    try:
        return Decoded([_utf8(value, cut_at) for value in values])
    except UnicodeDecodeError:
        best = max(_CANDIDATES, key=lambda name: _log_probability(b" ".join(values), name))
        return Decoded([value.decode(best, "replace") for value in values], _CANDIDATES[best][0])


def _utf8(value: bytes, cut_at: int | None) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = cut_at is not None and len(value) >= cut_at - 3 and error.start >= len(value) - 3
        if cut and not (whole := value[: error.start].decode("utf-8")).isascii():
            return whole
        raise


def _log_probability(text: bytes, name: str) -> float:
    """How probable the text is in the most fitting language of a character set."""
    run = _RUNS[name]
    total = math.log(_PRIOR[name])
    for match in _BEYOND_ASCII.finditer(text):
        total += (len(match[0]) - 1) * math.log(run) + math.log(1 - run)
        alone = not (_is_letter(text, match.start() - 1) or _is_letter(text, match.end()))
        if name == "cp1251" and not alone:  # a word is Cyrillic or Latin as a whole
            total += math.log(_STRANGE)
    counts = Counter(byte for byte in text if byte >= 0x80)
    return total + max(sum(weights[byte] * n for byte, n in counts.items()) for weights in _weights(name))


def _is_letter(text: bytes, at: int) -> bool:
    return 0 <= at < len(text) and text[at : at + 1].isalpha()


@cache
def _weights(name: str) -> list[list[float]]:
    """By language: the log probability of each byte; upper case counts like lower case, other signs are strange."""
    signs = [bytes([byte]).decode(name, "replace").lower() for byte in range(256)]
    languages = []
    for letters in _CANDIDATES[name][1]:
        shares = {letter: 1 / (rank + 3) for rank, letter in enumerate(letters)}
        total = sum(shares.values())
        languages.append([math.log(max(shares.get(sign, 0.0) / total, _STRANGE)) for sign in signs])
    return languages
