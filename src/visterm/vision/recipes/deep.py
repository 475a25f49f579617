"""Features of the networks of the plain install: what their last layers see, and what their inner stages know.

One pass of a network gives both. They are recipes of their own, since what is similar, what a text means and many
methods need the last vector alone; but whoever computes one of them stores the other as well.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute.rows import slices
from visterm.storage import RowSpec
from visterm.vision.network.efficientnet_lite import EfficientNetLite, EfficientNetLite0, EfficientNetLite2
from visterm.vision.network.inner_parts import n_products
from visterm.vision.recipes.base import Recipe
from visterm.vision.recipes.combined import CombinedRecipe
from visterm.vision.recipes.network import NetworkRecipe

_BATCH = 32


class DeepFeatures(NetworkRecipe):
    """EfficientNet-Lite0 trained on ImageNet: the ready preset, opened when the first features are computed.

    Rows are stored in half precision; those of earlier versions, in single precision, stay valid.

    >>> DeepFeatures().outputs
    {'deep': RowSpec(n_dims=1280, dtype='float16', sparse=False)}
    """

    preset: ClassVar[type[EfficientNetLite]] = EfficientNetLite0
    preset_name: ClassVar[str] = "deep"
    hashed_dtype = "float32"
    seconds_per_picture = 0.013
    has_negatives = False

    def __init__(self, *, device: str | None = None) -> None:
        summary = f"{self.preset.title()} trained on ImageNet"
        self.lite = self.preset(device=device)
        super().__init__(self.lite, name=self.preset_name, summary=summary)

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """One dense feature with the name of the recipe."""
        return {self.name: RowSpec(self.lite.n_dims, "float16")}

    @property
    def whole(self) -> "LitePass":
        """The pass that also gives the inner parts."""
        return InnerFeatures(self).whole


class DeepLite2Features(DeepFeatures):
    """EfficientNet-Lite2 trained on ImageNet, at twice the cost of EfficientNet-Lite0.

    >>> DeepLite2Features().outputs
    {'deep-lite2': RowSpec(n_dims=1280, dtype='float16', sparse=False)}
    """

    preset = EfficientNetLite2
    preset_name = "deep-lite2"
    seconds_per_picture = 0.026


class InnerFeatures(Recipe):
    """What the inner stages of the network of ``head`` know, see :mod:`visterm.vision.network.inner_parts`.

    Two features: ``NAME-stages``, the means and deviations of the channels of stages, and ``NAME-products``, which
    channels of stage 5 occur together.

    >>> {name: spec.n_dims for name, spec in InnerFeatures(DeepFeatures()).outputs.items()}
    {'deep-stages': 976, 'deep-products': 528}
    """

    has_negatives = True

    def __init__(self, head: DeepFeatures) -> None:
        self.head = head
        self.name = f"{head.name}-inner"
        self.summary = f"textures, colours and layouts from the inner stages of {head.lite.title()}"
        self.pixel_budget = head.pixel_budget
        self.seconds_per_picture = head.seconds_per_picture

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """Two dense features in half precision."""
        stages, products = self.head.lite.n_stages, n_products()
        return {
            f"{self.head.name}-stages": RowSpec(stages, "float16"),
            f"{self.head.name}-products": RowSpec(products, "float16"),
        }

    @cached_property
    def whole(self) -> "LitePass":
        """The pass that also gives the last vector."""
        return LitePass(self)

    def parameters(self) -> dict[str, Any]:
        """Those of the network."""
        return self.head.parameters()

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, Any]]:
        """The features of several pictures."""
        return [{name: row[name] for name in self.outputs} for row in self.whole.compute_many(pictures)]


class LitePass(Recipe):
    """Everything that one pass of a network gives: its last vector and its inner parts."""

    def __init__(self, inner: InnerFeatures) -> None:
        self.inner = inner
        self.name, self.summary = f"{inner.head.name}-pass", inner.head.summary
        self.pixel_budget, self.seconds_per_picture = inner.pixel_budget, inner.seconds_per_picture

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """Those of both."""
        return {**self.inner.head.outputs, **self.inner.outputs}

    @property
    def stored_parts(self) -> tuple[Recipe, ...]:
        """The last vector and the inner parts are stored apart."""
        return (self.inner.head, self.inner)

    def parameters(self) -> dict[str, Any]:
        """Those of the network."""
        return self.inner.parameters()

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, Any]]:
        """The features of several pictures, a batch at a time."""
        lite, names = self.inner.head.lite, tuple(self.outputs)
        rows: list[dict[str, Any]] = []
        for part in slices(len(pictures), _BATCH):
            found = lite.parts(lite.preprocessing.batch(pictures[part]))
            rows += [dict(zip(names, row, strict=True)) for row in zip(*found, strict=True)]
        return rows


class LayersRecipe(CombinedRecipe):
    """The inner parts of both networks, stored with each network's own.

    >>> sum(spec.n_dims for spec in LayersRecipe().outputs.values())
    3104
    """

    def __init__(self) -> None:
        super().__init__([InnerFeatures(DeepFeatures()), InnerFeatures(DeepLite2Features())])
        self.name, self.summary = "layers", "textures, colours and layouts from the inner stages of both networks"
