"""What the machine sees in a picture, for the command line and the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from visterm.app.describing import ready_recipe
from visterm.app.workspace import Workspace
from visterm.errors import InputError, PictureError
from visterm.vision.decode import decode_rgb
from visterm.vision.drawing import DRAWINGS, draw_codewords
from visterm.vision.recipes import recipe_names
from visterm.vision.recipes.bags import BagRecipe

if TYPE_CHECKING:
    from PIL import Image

#: The recipe whose words are shown when none is named.
_WORDS = "bow-240"


def draw(picture: Path, feature: str, workspace_folder: Path | None = None) -> Image.Image:
    """A drawing of ``feature``: sift, regions, lbp, gist, or the codewords of a recipe (which learns them first)."""
    from PIL import Image

    name = _WORDS if feature == "codewords" else feature
    if name not in DRAWINGS and name not in recipe_names():
        raise InputError(f"{feature!r} cannot be shown: choose {', '.join(DRAWINGS)}, codewords or a recipe of bags")
    try:
        rgb = decode_rgb(picture)
    except (OSError, PictureError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{picture} cannot be shown: {reason}") from error
    if name in DRAWINGS:
        return Image.fromarray(DRAWINGS[name](rgb))
    with Workspace.find(workspace_folder) as workspace:
        recipe = ready_recipe(workspace, name)
    if not isinstance(recipe, BagRecipe):
        raise InputError(f"the recipe {name!r} has no codewords to show: choose one of bags, such as {_WORDS}")
    return Image.fromarray(draw_codewords(rgb, recipe))
