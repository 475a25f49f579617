"""What the machine sees in a picture, for the command line and the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from visterm.collection.features import ready_recipe
from visterm.collection.holdings import Holdings
from visterm.documents.document import Document
from visterm.errors import InputError, PictureError, UsageError
from visterm.find.sheets import save_sheet
from visterm.storage.files import is_there
from visterm.vision.decode import decode_rgb
from visterm.vision.drawing import DRAWINGS, draw_codewords
from visterm.vision.recipes import recipe_names
from visterm.vision.recipes.encodings import BagRecipe

#: The recipe whose codewords are shown when none is named.
_CODEWORDS = "bow-240"


@dataclass(frozen=True)
class Drawing(Document):
    """Where the drawing was written."""

    written: str


def show(holdings: Holdings | None, picture: Path, *, feature: str = "sift", output: Path | None = None) -> Drawing:
    """Draw ``feature`` of a picture to ``output``, by default ``NAME.FEATURE.png`` in the current folder."""
    drawn = draw(holdings, picture, feature)
    file = output or Path(f"{picture.stem}.{feature}.png")
    save_sheet(drawn, file)
    return Drawing(str(file))


def show_in(folder: Path | None, picture: Path, *, feature: str = "sift", output: Path | None = None) -> Drawing:
    """As :func:`show`, in the workspace of ``folder``; only drawings of learned codewords need a workspace."""
    if _known(feature) in DRAWINGS and is_there(picture):
        return show(None, picture, feature=feature, output=output)
    try:
        holdings = Holdings.find(folder)
    except InputError:
        if _known(feature) not in DRAWINGS or folder is not None:
            raise
        return show(None, picture, feature=feature, output=output)  # says that there is no such file
    with holdings:
        return show(holdings, picture, feature=feature, output=output)


def draw(holdings: Holdings | None, picture: Path, feature: str) -> Image.Image:
    """A drawing of ``feature``: sift, regions, lbp, gist, or the codewords of a recipe (which learns them first)."""
    name = _known(feature)
    if holdings is not None and not is_there(picture) and (known := holdings.picture(picture)) is not None:
        picture = holdings.catalogue.file_of(known)
    try:
        rgb = decode_rgb(picture)
    except (OSError, PictureError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{picture} cannot be shown: {reason}") from error
    if name in DRAWINGS:
        return Image.fromarray(DRAWINGS[name](rgb))
    if holdings is None:
        raise InputError(f"the codewords of {name!r} are learned from a collection: work inside a workspace")
    recipe = ready_recipe(holdings, name)
    if not isinstance(recipe, BagRecipe):
        raise InputError(f"the recipe {name!r} has no codewords to show: choose a recipe of bags, such as {_CODEWORDS}")
    return Image.fromarray(draw_codewords(rgb, recipe))


def _known(feature: str) -> str:
    """The drawing or recipe that ``feature`` names."""
    name = _CODEWORDS if feature == "codewords" else feature
    if name not in DRAWINGS and name not in recipe_names():
        raise UsageError(f"{feature!r} cannot be shown: choose {', '.join(DRAWINGS)}, codewords or a recipe of bags")
    return name
