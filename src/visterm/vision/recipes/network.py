"""Features of pretrained networks: one dense vector per picture."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.rows import slices
from visterm.errors import InputError
from visterm.pairs import pair_named
from visterm.storage import RowSpec
from visterm.vision.network.efficientnet_lite import EfficientNetLite2
from visterm.vision.network.hub import ClipNetwork, timm_network
from visterm.vision.network.networks import Network, OnnxNetwork
from visterm.vision.network.pair_pictures import PairPictures
from visterm.vision.network.preprocessing import Preprocessing
from visterm.vision.recipes.base import Recipe

_HUB_NAME = re.compile(r"timm:(?P<timm>[\w.-]+)|open_clip:(?P<clip>[\w.-]+)(:(?P<weights>[\w-]+))?", re.ASCII)


class NetworkRecipe(Recipe):
    """The vectors of any network: a :class:`~visterm.vision.network.networks.Network`, or the ONNX file at ``path``.

    ``preprocessing`` says how to prepare pictures for the ONNX file (a network object has its own). The network gets at
    most ``batch_size`` pictures at a time. To use your own network by name, write a function::

        def herbarium() -> NetworkRecipe:
            return NetworkRecipe(path="/srv/models/herbarium.onnx", name="herbarium", summary="our pressed plants")

    and call ``register_recipe("herbarium", "our_package:herbarium")``.
    """

    seconds_per_picture = 0.02
    has_negatives = True

    def __init__(
        self,
        network: Network | None = None,
        *,
        path: Path | str | None = None,
        preprocessing: Preprocessing | None = None,
        batch_size: int = 32,
        name: str = "network",
        summary: str = "vectors of your own network",
    ) -> None:
        if (network is None) == (path is None):
            raise InputError("a network recipe needs either a network or the path of an ONNX file: give one of them")
        if network is not None and preprocessing is not None:
            raise InputError("a network has its own preprocessing: give it when you make the network")
        if batch_size < 1:
            raise InputError(f"a batch holds at least one picture, not {batch_size}")
        self.network: Network = network or OnnxNetwork(path or "", preprocessing)
        self._batch_size = batch_size
        self.name, self.summary = name, summary
        # Twice the sides of the input: the network's own filter, not the decoder's, decides which details are kept.
        self.pixel_budget = (2 * self.network.preprocessing.size) ** 2

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """One dense feature with the name of the recipe."""
        return {self.name: RowSpec(self.network.n_dims)}

    def parameters(self) -> dict[str, Any]:
        """The network and how pictures are prepared for it."""
        return {"network": self.network.fingerprint, "preprocessing": asdict(self.network.preprocessing)}

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, NDArray[np.float32]]]:
        """Embed several pictures, a batch at a time."""
        return [{self.name: row} for row in self.compute_batch(pictures)]

    def compute_batch(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """The vectors of several pictures of any sizes: (n_pictures, n_dims)."""
        rows = np.empty((len(pictures), self.network.n_dims), np.float32)
        for part in slices(len(pictures), self._batch_size):
            rows[part] = self.network.embed(self.network.preprocessing.batch(pictures[part]))
        if not np.isfinite(rows).all():
            raise InputError("the network returns values that are not finite: check its preprocessing and precision")
        return rows


class ImageNetClasses(NetworkRecipe):
    """How probable each of ImageNet's 1,000 classes is, by EfficientNet-Lite2: a start where nothing is labelled.

    Rows are in half precision. They are not sparse: what matters for texts are the roots of the probabilities, and the
    50 largest hold only a fifth of their sum (1,500 photographs). With stored ``deep-lite2`` vectors,
    :func:`~visterm.vision.network.imagenet_classes.class_probabilities` gives the same without running the network.

    >>> ImageNetClasses().outputs
    {'imagenet-classes': RowSpec(n_dims=1000, dtype='float16', sparse=False)}
    """

    seconds_per_picture = 0.026
    has_negatives = False

    def __init__(self, *, device: str | None = None) -> None:
        summary = "the probabilities of ImageNet's 1,000 classes by EfficientNet-Lite2"
        super().__init__(EfficientNetLite2(device=device), name="imagenet-classes", summary=summary)

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """One dense feature: a probability for each class, in half precision."""
        return {self.name: RowSpec(1000, "float16")}

    def parameters(self) -> dict[str, Any]:
        """Those of the network, and what is done with its vectors."""
        return super().parameters() | {"classifier": "softmax"}

    def compute_batch(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """The probabilities of the classes for several pictures: (n_pictures, 1000)."""
        from visterm.vision.network.imagenet_classes import class_probabilities

        return class_probabilities(super().compute_batch(pictures))


def pair_recipe(name: str) -> NetworkRecipe:
    """The picture half of the installed image-text pair whose recipe is called ``name``."""
    pair = pair_named(name)
    made = NetworkRecipe(PairPictures(pair), name=name, summary=f"pictures beside texts, by the pair {pair.name}")
    made.seconds_per_picture = pair.trial.seconds_per_picture
    return made


def hub_recipe(name: str) -> NetworkRecipe:
    """The vectors of a network of timm or open_clip: ``timm:NETWORK``, ``open_clip:NETWORK[:WEIGHTS]``.

    Only names that the library itself lists are accepted, no paths and no repositories: the name may come from another
    person's model, which must not cause a download from an unknown source.
    """
    found = _HUB_NAME.fullmatch(name)
    if found is None:
        raise InputError(f"the recipe {name!r} names no network: write timm:NETWORK or open_clip:NETWORK[:WEIGHTS]")
    called = found["timm"] or found["clip"]
    network = timm_network(called) if found["timm"] else ClipNetwork(called, found["weights"] or "openai")
    return NetworkRecipe(network, name=name, summary=f"vectors of the network {called}")
