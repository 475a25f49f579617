"""Where pictures and texts meet: the features of pictures and the encoder of texts that search by any words uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from visterm.language.text_encoder import DEFAULT, text_encoder
from visterm.pairs import pair_in_use

if TYPE_CHECKING:
    from visterm.collection.opened import Opened
    from visterm.models import Model

#: What the model of texts is called on its shelf, and what it can do.
NAME, TASK = "any-words", "find by any words"

#: How probabilities are learned from nearness; another number where models of an earlier version cannot be used.
_CALIBRATION = 2


@dataclass(frozen=True, slots=True)
class TextView:
    """The ``recipe`` of pictures and the ``encoder`` of texts.

    ``is_pair``: both were made together, so that a picture's vector is near those of its texts before anything is
    learned. Otherwise the classes that a network sees stand in for texts.
    """

    recipe: str = "deep+deep-lite2"
    encoder: str = DEFAULT
    is_pair: bool = False


def text_view() -> TextView:
    """What new models of texts are made with: the image-text pair that this user installed last, if there is one."""
    pair = pair_in_use()
    return TextView() if pair is None else TextView(pair.full_name, pair.full_name, is_pair=True)


def newest_model(opened: Opened) -> Model | None:
    """What was learned last for the features and the encoder in use; None if nothing was."""
    shelf, facts = opened.text_shelf, (text_view().recipe, encoder_in_use())
    infos = [info for info in shelf.infos() if (info.recipe, info.training.get("encoder")) == facts]
    return shelf.load(shelf.place(NAME, infos[-1].version)) if infos else None


def encoder_in_use() -> str:
    """The encoder, and how probabilities are learned: what was learned with others is of no use."""
    encoder = text_encoder(text_view().encoder)
    return f"{encoder.name} {encoder.fingerprint} {_CALIBRATION}"
