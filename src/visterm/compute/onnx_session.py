"""Opens ONNX models with onnxruntime: the same threads and the same limits wherever one is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from visterm.compute.device import choose_device
from visterm.compute.optional import first_line, imported
from visterm.compute.threads import n_cores
from visterm.errors import InputError


def open_session(model: bytes, name: str, device: str | None = None) -> Any:
    """An onnxruntime session of an ONNX file with these bytes, which people know as ``name``.

    All runs share threads, one for each core, which sleep while they wait: where other work needs the cores, threads
    that spin make a run half as fast. Weights must be inside the file; no other file is ever read.
    """
    runtime = imported("onnxruntime", "an ONNX network", extra=None)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_cores()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # what goes wrong is raised, and printed by nobody else
    # Nothing can lie below a file: a model that keeps weights elsewhere fails instead of reading them.
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(Path(__file__).resolve() / "nothing")
    )
    try:
        return runtime.InferenceSession(model, options, providers=_providers(runtime, device))
    except Exception as error:  # onnxruntime's errors have no common class
        if "xternal data" in str(error):
            raise InputError(f"{name} keeps weights in other files: save it as one file") from error
        raise InputError(f"{name} is not a usable ONNX model: {first_line(error)}") from error


def _providers(runtime: Any, device: str | None) -> list[str]:
    on_gpu = choose_device(device).name.startswith("cuda")
    if on_gpu and "CUDAExecutionProvider" in runtime.get_available_providers():
        return ["CUDAExecutionProvider", "CPUExecutionProvider"]
    if on_gpu and device is not None:
        raise InputError(f"the device {device!r} needs a GPU, but this onnxruntime supports none: use onnxruntime-gpu")
    return ["CPUExecutionProvider"]
