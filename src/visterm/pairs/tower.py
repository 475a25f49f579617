"""Runs one half of a pair: an ONNX model with the names that public exporters give to inputs and outputs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.onnx_session import open_session
from visterm.compute.optional import first_line, imported
from visterm.errors import InputError
from visterm.pairs.installed import Pair
from visterm.pairs.parts import CONFIG, PICTURE_VECTORS, PICTURES, TEXT_VECTORS, TEXTS

Floats = NDArray[np.float32]

PIXELS, IDS, MASK = "pixel_values", "input_ids", "attention_mask"
#: What a half may take; it must take the first.
_TAKES = {PICTURES: (PIXELS,), TEXTS: (IDS, MASK, "token_type_ids")}
#: Which output has the vectors: the first that is there. The second is one only where there is no projection after it.
_GIVES = {PICTURES: (PICTURE_VECTORS, "pooler_output"), TEXTS: (TEXT_VECTORS, "pooler_output")}
#: Families of pairs whose pooled output is compared as it is.
_WITHOUT_PROJECTION = ("siglip",)
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
#: How many rows are computed at a time: the values between the layers of more do not fit into the caches.
_BATCH = {PICTURES: 4, TEXTS: 16}
_MAX_BATCH = 256
#: The sessions that were used last, by the content of their file and the device.
_SESSIONS: OrderedDict[tuple[str, str | None], Any] = OrderedDict()
_N_SESSIONS = 4
_OPENING = threading.Lock()


class Tower:
    """The pictures' or the texts' half of ``pair``; opened when it is first needed.

    ``half`` is ``PICTURES`` or ``TEXTS``, the name of its file.
    """

    def __init__(self, pair: Pair, half: str, device: str | None = None) -> None:
        self._pair, self._half, self._device = pair, half, device
        self._output = ""
        self.name = f"{half} of the pair {pair.name!r}"

    def run(self, given: Mapping[str, NDArray[Any]], *, seconds: float | None = None) -> Floats:
        """The vectors (n_rows, n_dims), not of length one, for inputs by name, each with n_rows rows.

        Inputs that the model does not take are left out. A run of more than ``seconds`` is ended with an error.
        """
        session = self._session()
        if not self._output:
            self._output = self._chosen_output(session)
        taken = {one.name: one for one in session.get_inputs()}
        n = len(next(iter(given.values())))
        fixed = next((taken[name].shape[0] for name in given if name in taken), None)
        on_cpu = session.get_providers()[0] == "CPUExecutionProvider"
        step = fixed if isinstance(fixed, int) else _BATCH[self._half] if on_cpu else _MAX_BATCH
        if not 0 < step <= _MAX_BATCH:
            raise InputError(f"{self.name} takes {step} rows at a time: only 1 to {_MAX_BATCH} are supported")
        parts = []
        for start in range(0, n, step):
            rows = np.arange(start, min(n, start + step))
            padded = np.resize(rows, step) if isinstance(fixed, int) else rows
            feeds = {name: self._feed(one, given, padded) for name, one in taken.items()}
            vectors = _run(session, self._output, feeds, self.name, seconds)
            parts.append(self._checked(vectors, len(padded))[: len(rows)])
        return np.concatenate(parts)

    def shape(self, name: str) -> list[Any]:
        """The declared shape of the input called ``name``: numbers where a side is fixed, names where it is not."""
        return next((one.shape for one in self._session().get_inputs() if one.name == name), [])

    def check(self) -> None:
        """Raises an error if the model does not look like this half of a pair."""
        session = self._session()
        inputs = {one.name: one for one in session.get_inputs()}
        main = _TAKES[self._half][0]
        if main not in inputs or not inputs.keys() <= set(_TAKES[self._half]):
            raise InputError(
                f"{self.name} takes {', '.join(inputs) or 'nothing'}, but this half of a pair takes {main}: "
                "export the pair again with optimum"
            )
        for one in inputs.values():
            n_sides, kind = (4, "tensor(float") if one.name == PIXELS else (2, "tensor(int")
            if one.type not in _TYPES or not one.type.startswith(kind) or len(one.shape) != n_sides:
                raise InputError(
                    f"{self.name} takes {one.name} as {one.type} {one.shape}, "
                    f"not as {'(n, 3, height, width) floats' if n_sides == 4 else '(n, length) whole numbers'}"
                )
        self._chosen_output(session)

    def _chosen_output(self, session: Any) -> str:
        names = [one.name for one in session.get_outputs()]
        projected, pooled = _GIVES[self._half]
        if projected in names:
            return projected
        family = str(self._pair.settings(CONFIG).get("model_type", ""))
        if pooled in names and family.startswith(_WITHOUT_PROJECTION):
            return pooled
        raise InputError(
            f"{self.name} has no output {projected} (it has {', '.join(names[:5])}): "
            "export the pair with its projections, as optimum does for zero-shot-image-classification"
        )

    def _feed(self, one: Any, given: Mapping[str, NDArray[Any]], rows: NDArray[np.intp]) -> NDArray[Any]:
        kind = _TYPES[one.type]
        if one.name in given:
            return np.ascontiguousarray(given[one.name][rows], kind)
        return np.zeros(given[IDS][rows].shape, kind)  # the kinds of tokens: all of the first

    def _checked(self, values: Any, n_rows: int) -> Floats:
        vectors = np.asarray(values)
        if vectors.ndim != 2 or len(vectors) != n_rows or not vectors.shape[1] or vectors.dtype.kind != "f":
            raise InputError(f"{self.name} returns {vectors.dtype} {vectors.shape} for {n_rows} rows, not vectors")
        single = vectors.astype(np.float32)
        if not np.isfinite(single).all():
            raise InputError(f"{self.name} returns numbers that are not finite: take the model in another precision")
        return single

    def _session(self) -> Any:
        key = (self._pair.sha256[self._half], self._device)
        with _OPENING:
            if key not in _SESSIONS:
                _SESSIONS[key] = open_session(self._pair.read(self._half), self.name, self._device)
            _SESSIONS.move_to_end(key)
            while len(_SESSIONS) > _N_SESSIONS:
                _SESSIONS.popitem(last=False)
            return _SESSIONS[key]


def _run(session: Any, output: str, feeds: Mapping[str, NDArray[Any]], name: str, seconds: float | None) -> Any:
    options = imported("onnxruntime", "an ONNX network", extra=None).RunOptions()
    options.log_severity_level = 4
    watch = threading.Timer(seconds or 0, setattr, (options, "terminate", True))
    watch.daemon = True
    if seconds is not None:
        watch.start()
    try:
        return session.run([output], feeds, options)[0]
    except Exception as error:  # onnxruntime's errors have no common class
        if options.terminate:
            raise InputError(
                f"{name} needs more than {seconds:.0f} seconds for a few rows: take a smaller pair"
            ) from error
        raise InputError(f"{name} cannot be run: {first_line(error)}") from error
    finally:
        watch.cancel()
