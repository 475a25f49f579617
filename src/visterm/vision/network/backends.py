"""A network of blocks as an ONNX model and as a torch module: its last maps, and the moments of its stages."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import onnx_file
from visterm.vision.network.blocks import Block
from visterm.vision.network.inner_parts import DEVIATIONS, MEANS, PRODUCTS, InnerParts

#: What both backends give: the maps of the last block, and the moments of :class:`InnerParts`. In ONNX they are
#: outputs, in torch methods.
MAPS, MOMENTS = "forward", "moments"


class _Graph:
    """The nodes and constants of an ONNX model, named in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def constant(self, values: NDArray[Any]) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(onnx_file.tensor(name, values))
        return name

    def node(self, operator: str, *inputs: str, **attributes: int | str | Sequence[int]) -> str:
        name = f"value{len(self.nodes)}"
        self.nodes.append(onnx_file.node(operator, inputs, name, **attributes))
        return name

    def named(self, name: str, value: str) -> None:
        self.nodes.append(onnx_file.node("Identity", [value], name))

    def mean(self, maps: str) -> str:
        return self.node("Flatten", self.node("GlobalAveragePool", maps), axis=1)


def as_onnx(blocks: Sequence[Block], size: int) -> bytes:
    """An ONNX model from ``pictures`` (n, 3, size, size) to moments (n, n_moments) and last maps (n, n_dims, s, s)."""
    graph, inner = _Graph(), InnerParts.of(blocks)
    zero, six = graph.constant(np.array(0, np.float32)), graph.constant(np.array(6, np.float32))
    x, of_blocks = "pictures", []
    for block in blocks:
        y = x
        for layer in block.convolutions:
            y = graph.node(
                "Conv",
                *(y, graph.constant(layer.weights), graph.constant(layer.bias)),
                kernel_shape=layer.weights.shape[2:],
                strides=(layer.stride,) * 2,
                auto_pad="SAME_UPPER",
                group=len(layer.weights) if layer.depthwise else 1,
            )
            y = graph.node("Clip", y, zero, six) if layer.relu6 else y
        x = graph.node("Add", y, x) if block.adds_input else y
        of_blocks.append(x)
    stages = {stage: of_blocks[inner.ends[stage - 1]] for stage in MEANS}
    means = [graph.mean(stages[stage]) for stage in MEANS]
    # Not ReduceSumSquare: products and averages stay in the layout of the convolutions.
    squares = [graph.mean(graph.node("Mul", stages[stage], stages[stage])) for stage in DEVIATIONS]
    products = _products(
        graph, stages[PRODUCTS], inner.directions, map_side(blocks[: inner.ends[PRODUCTS - 1] + 1], size)
    )
    graph.named(MOMENTS, graph.node("Concat", graph.mean(x), *means, *squares, products, axis=1))
    graph.named(MAPS, x)
    side = map_side(blocks, size)
    taken = onnx_file.tensor_info("pictures", ["n_pictures", 3, size, size])
    moments = onnx_file.tensor_info(MOMENTS, ["n_pictures", inner.n_moments])
    maps = onnx_file.tensor_info(MAPS, ["n_pictures", inner.n_head, side, side])
    return onnx_file.model(graph.nodes, graph.constants, [taken], [moments, maps])


def _products(graph: _Graph, maps: str, directions: NDArray[np.float32], side: int) -> str:
    """The mean products of directions over the places of maps with ``side`` x ``side`` places, as rows."""
    k, n_channels = directions.shape
    weights = graph.constant((directions / np.float32(side)).reshape(k, n_channels, 1, 1))
    along = graph.node("Conv", maps, weights, kernel_shape=(1, 1))
    rows = graph.node("Reshape", along, graph.constant(np.array([0, k, -1])))
    products = graph.node("MatMul", rows, graph.node("Transpose", rows, perm=(0, 2, 1)))
    return graph.node("Reshape", products, graph.constant(np.array([0, k * k])))


def map_side(blocks: Sequence[Block], size: int) -> int:
    """The side of the last block's maps for pictures of ``size`` pixels."""
    for block in blocks:
        for layer in block.convolutions:
            size = -(-size // layer.stride)
    return size


def as_torch(blocks: Sequence[Block], size: int) -> Any:
    """A torch module from pictures (n, 3, size, size) to the maps of the last block; its ``moments`` are a method."""
    import torch
    from torch import nn

    inner = InnerParts.of(blocks)

    class AddsInput(nn.Sequential):
        def forward(self, x: Any) -> Any:
            return x + super().forward(x)

    class WithMoments(nn.Sequential):
        def moments(self, x: Any) -> Any:
            of_blocks = []
            for block in self:
                x = block(x)
                of_blocks.append(x)
            stages = {stage: of_blocks[inner.ends[stage - 1]] for stage in MEANS}
            means = [maps.mean((2, 3)) for maps in (x, *stages.values())]
            squares = [(stages[stage] ** 2).mean((2, 3)) for stage in DEVIATIONS]
            along = torch.from_numpy(inner.directions).to(x.device) @ stages[PRODUCTS].flatten(2)
            products = along @ along.transpose(1, 2) / along.shape[2]
            return torch.cat([*means, *squares, products.flatten(1)], dim=1)

    parts, side = [], size
    for block in blocks:
        layers: list[Any] = []
        for layer in block.convolutions:
            n_outputs, n_inputs, k, _ = layer.weights.shape
            groups = n_outputs if layer.depthwise else 1
            convolution = nn.Conv2d(n_inputs * groups, n_outputs, k, layer.stride, groups=groups)
            convolution.load_state_dict(
                {"weight": torch.from_numpy(layer.weights), "bias": torch.from_numpy(layer.bias)}
            )
            before, after = layer.padding(side)
            layers += [nn.ZeroPad2d((before, after, before, after)), convolution]
            layers += [nn.ReLU6()] if layer.relu6 else []
            side = -(-side // layer.stride)
        parts.append((AddsInput if block.adds_input else nn.Sequential)(*layers))
    return WithMoments(*parts)
