"""Networks behind one small protocol: a torch module, or an ONNX file run by onnxruntime.

Only ONNX files are read: they contain a graph of standard operators and numbers, while torch files (pickles,
TorchScript, exported programs) can contain code. To use such a file, build the module in Python, load its weights from
safetensors or with ``torch.load(..., weights_only=True)``, and pass the module.
"""

import copy
import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.compute import choose_device
from visterm.compute.onnx_session import open_session
from visterm.compute.optional import first_line, imported
from visterm.errors import InputError
from visterm.vision.network.preprocessing import Preprocessing

_OPENING = threading.Lock()
_ON_GPU = threading.Lock()
#: A model with a fixed batch length always gets whole batches, however few pictures there are.
_MAX_FIXED_BATCH = 256
#: The values between the layers of more pictures do not fit into the caches: 16 at a time took up to half longer.
_CPU_BATCH = 4
_ONNX_FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class Network(Protocol):
    """Something that turns prepared pictures into vectors."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same prepared picture may give another vector."""

    @property
    def n_dims(self) -> int:
        """The length of the vectors."""

    @property
    def preprocessing(self) -> Preprocessing:
        """How pictures are prepared."""

    def embed(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vectors of a (n_pictures, 3, size, size) batch: (n_pictures, n_dims)."""


class TorchNetwork:
    """A copy of a torch module in evaluation mode, on the device that :func:`visterm.compute.choose_device` returns.

    The module (or, when named, its ``method``) maps (n, 3, size, size) to (n, n_dims), or to feature maps
    (n, n_dims, height, width), which are averaged. The fingerprint covers the printed structure of the module and every
    parameter and buffer, but not the code of its ``forward``.
    """

    def __init__(
        self,
        module: Any,
        preprocessing: Preprocessing | None = None,
        *,
        method: str = "forward",
        device: str | None = None,
    ) -> None:
        torch = imported("torch", "a torch network")
        if not isinstance(module, torch.nn.Module):
            raise InputError(f"a torch network is a torch.nn.Module, not {type(module).__name__}")
        chosen = choose_device(device)
        self._place = chosen.name if chosen.uses_torch else "cpu"
        self._method = method
        self._module = copy.deepcopy(module).eval().to(self._place, torch.float32)
        self.preprocessing = preprocessing or Preprocessing()
        self.fingerprint = _module_hash(module, method)
        self.n_dims = _measured_dims(self)

    def embed(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the module."""
        return _pooled(self._run(batch, self._method), len(batch))

    def output(self, batch: NDArray[np.float32], method: str) -> NDArray[np.float32]:
        """What another method of the module gives, such as feature maps that are not averaged."""
        return self._run(batch, method)

    def _run(self, batch: NDArray[np.float32], method: str) -> NDArray[np.float32]:
        import torch

        inputs = torch.from_numpy(batch).to(self._place)
        try:
            with torch.inference_mode(), self._exact():
                outputs = getattr(self._module, method)(inputs)
        except (RuntimeError, ValueError, TypeError, AttributeError) as error:
            raise InputError(f"the network cannot take a batch of shape {batch.shape}: {first_line(error)}") from error
        if not isinstance(outputs, torch.Tensor):
            raise InputError(f"the network returns a {type(outputs).__name__}, not one tensor: wrap it in a module")
        return np.asarray(outputs.float().cpu().numpy())

    @contextmanager
    def _exact(self) -> Iterator[None]:
        """On a GPU, run one batch at a time, without the ten-bit products that torch uses for float32.

        This is a setting of the whole process: the lock keeps two threads from overwriting each other's setting.
        """
        if self._place == "cpu":
            yield
            return
        import torch

        with _ON_GPU, torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            yield


class OnnxNetwork:
    """An ONNX file, or the bytes of one, run by onnxruntime on the CPU or, with ``onnxruntime-gpu``, on the GPU.

    The model has one input, float32 or float16, (n, 3, height, width) or (n, height, width, 3), with any or a fixed n;
    a fixed input size goes before the one in ``preprocessing``. Of several outputs, the first or the one named
    ``output`` is used: (n, n_dims), or feature maps (n, n_dims, height, width), which are averaged.

    Weights must be inside the file, so that its hash covers everything and no other file is ever read.
    """

    def __init__(
        self,
        model: Path | str | bytes,
        preprocessing: Preprocessing | None = None,
        *,
        output: str | None = None,
        device: str | None = None,
    ) -> None:
        self._model = model if isinstance(model, bytes) else Path(model)
        self._name = "the ONNX model" if isinstance(model, bytes) else str(model)
        self._output = output
        self._device = device
        self._session: Any = None
        self._sha256 = ""
        size = self._input_size()
        self.preprocessing = preprocessing or Preprocessing(size=size or Preprocessing().size)
        if size not in (None, self.preprocessing.size):
            raise InputError(
                f"{self._name} takes pictures of {size} pixels, not of {self.preprocessing.size}: "
                f"prepare them with Preprocessing(size={size})"
            )
        self.fingerprint = f"{self._sha256}:{output or ''}"
        self.n_dims = _measured_dims(self)

    def embed(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the model, on the CPU or with a fixed batch size as often as it takes."""
        name = self._output or self._opened().get_outputs()[0].name
        return np.concatenate([_pooled(part, n) for part, n in self._run(batch, name)])[: len(batch)]

    def output(self, batch: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """The output called ``name`` as it is, such as feature maps that are not averaged."""
        return np.concatenate([part for part, _ in self._run(batch, name)])[: len(batch)]

    def _run(self, batch: NDArray[np.float32], output: str) -> Iterator[tuple[Any, int]]:
        """The output for one batch after the other, each with the number of its pictures."""
        session = self._opened()
        given = session.get_inputs()[0]
        if _channels_last(given.shape):
            batch = batch.transpose(0, 2, 3, 1)
        batch = np.ascontiguousarray(batch, _ONNX_FLOATS[given.type])
        n = len(batch)
        on_cpu = session.get_providers()[0] == "CPUExecutionProvider"
        step = min(n, _CPU_BATCH) if on_cpu else n
        if isinstance(given.shape[0], int):
            step = given.shape[0]
            batch = np.concatenate((batch, np.zeros((-n % step, *batch.shape[1:]), batch.dtype)))
        for start in range(0, len(batch), step):
            try:
                (part,) = session.run([output], {given.name: batch[start : start + step]})
            except Exception as error:  # onnxruntime's errors have no common class
                raise InputError(f"{self._name} cannot be run: {first_line(error)}") from error
            yield part, len(batch[start : start + step])

    def _input_size(self) -> int | None:
        """The fixed side of the input, or None; raises an error if the model does not take one batch of pictures."""
        session = self._opened()
        inputs, outputs = session.get_inputs(), [output.name for output in session.get_outputs()]
        if len(inputs) != 1 or inputs[0].type not in _ONNX_FLOATS or len(inputs[0].shape) != 4:
            taken = ", ".join(f"{given.name} {given.type} {given.shape}" for given in inputs)
            raise InputError(f"{self._name} takes {taken or 'nothing'}, not one batch (n, 3, height, width) of floats")
        if self._output is not None and self._output not in outputs:
            raise InputError(f"{self._name} has no output {self._output!r}: choose one of {', '.join(outputs)}")
        shape = inputs[0].shape
        if isinstance(shape[0], int) and not 0 < shape[0] <= _MAX_FIXED_BATCH:
            raise InputError(
                f"{self._name} takes {shape[0]} pictures at a time: only 1 to {_MAX_FIXED_BATCH} are supported"
            )
        height, width = shape[1:3] if _channels_last(shape) else shape[2:4]
        if isinstance(height, int) and isinstance(width, int) and height != width:
            raise InputError(f"{self._name} takes pictures of {height} x {width} pixels: only squares can be prepared")
        return next((side for side in (height, width) if isinstance(side, int)), None)

    def _opened(self) -> Any:
        with _OPENING:
            if self._session is None:
                self._session = self._open()
        return self._session

    def _open(self) -> Any:
        imported("onnxruntime", "an ONNX network", extra=None)
        if isinstance(self._model, Path) and not self._model.is_file():
            raise InputError(f"there is no ONNX file {self._model}")
        data = self._model.read_bytes() if isinstance(self._model, Path) else self._model
        sha256 = hashlib.sha256(data).hexdigest()
        if self._sha256 not in ("", sha256):
            raise InputError(f"{self._name} has changed since it was first opened: make a new recipe of it")
        self._sha256 = sha256
        return open_session(data, self._name, self._device)

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens the file itself.
        return self.__dict__ | {"_session": None}


def _channels_last(shape: Sequence[Any]) -> bool:
    return shape[3] == 3 and shape[1] != 3


def _measured_dims(network: TorchNetwork | OnnxNetwork) -> int:
    size = network.preprocessing.size
    return network.embed(np.zeros((1, 3, size, size), np.float32)).shape[1]


def _pooled(outputs: Any, n_pictures: int) -> NDArray[np.float32]:
    shape = np.shape(outputs)
    if len(shape) not in (2, 4) or shape[0] != n_pictures or not all(shape[1:]):
        raise InputError(
            f"the network returns an array of shape {shape} for {n_pictures} pictures, "
            "not (n, n_dims) or feature maps (n, n_dims, height, width): choose another output"
        )
    values = np.asarray(outputs, np.float32)
    return values if values.ndim == 2 else values.mean((2, 3))


def _module_hash(module: Any, method: str) -> str:
    import torch

    digest = hashlib.sha256(f"{method}\n{module!r}".encode())
    for name, tensor in module.state_dict().items():
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        # Bytes, since NumPy does not have every type of torch.
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
