"""Networks by their names in ``timm`` and ``open_clip``, if these are installed and the weights can be downloaded.

Naming a network downloads its weights; nothing else here uses the internet.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visterm.compute.optional import first_line, imported
from visterm.compute.rows import unit
from visterm.errors import InputError, VistermError
from visterm.vision.network.networks import TorchNetwork
from visterm.vision.network.preprocessing import Preprocessing


def timm_network(name: str) -> TorchNetwork:
    """The pretrained network ``name`` of timm, such as ``mobilenetv3_small_100``, without its classifier."""
    timm = imported("timm", f"the network {name!r}")
    try:
        module = timm.create_model(name, pretrained=True, num_classes=0)
    except Exception as error:  # unknown names, missing weights and broken connections have no common class
        raise VistermError(f"timm cannot load the network {name!r}: {first_line(error)}") from error
    expects = timm.data.resolve_model_data_config(module)
    preprocessing = _preprocessing(
        expects["input_size"][1:],
        expects["mean"],
        expects["std"],
        crop=expects["crop_pct"],
        squash=expects.get("crop_mode") == "squash",
        resampling=expects["interpolation"],
    )
    return TorchNetwork(module, preprocessing)


class ClipNetwork(TorchNetwork):
    """The picture tower of the network ``name`` of open_clip with the weights called ``weights`` (or in that file).

    Vectors have length one.
    """

    def __init__(self, name: str, weights: str) -> None:
        clip = imported("open_clip", f"the network {name!r}")
        try:
            module = clip.create_model(name, pretrained=weights, require_pretrained=True)
        except Exception as error:  # unknown names, missing weights and broken connections have no common class
            raise VistermError(f"open_clip cannot load {name!r} with {weights!r}: {first_line(error)}") from error
        expects = clip.get_model_preprocess_cfg(module)
        if expects["resize_mode"] not in ("shortest", "squash"):
            raise InputError(f"the network {name!r} needs padded pictures, which are not supported: choose another")
        preprocessing = _preprocessing(
            expects["size"],
            expects["mean"],
            expects["std"],
            crop=1.0,
            squash=expects["resize_mode"] == "squash",
            resampling=expects["interpolation"],
        )
        super().__init__(module, preprocessing, method="encode_image")

    def embed(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the picture tower."""
        return unit(super().embed(batch))


def _preprocessing(
    size: int | Sequence[int],
    mean: Sequence[float],
    deviation: Sequence[float],
    *,
    crop: float,
    squash: bool,
    resampling: str,
) -> Preprocessing:
    """Both libraries use colours from 0 to 1."""
    sides = {size} if isinstance(size, int) else set(size)
    if len(sides) != 1:
        raise InputError(f"the network takes pictures of {size} pixels: only squares are supported")
    return Preprocessing(
        sides.pop(),
        tuple(255.0 * value for value in mean),
        tuple(255.0 * value for value in deviation),
        crop=crop,
        squash=squash,
        resampling=resampling,
    )
