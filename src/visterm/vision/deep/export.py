"""Torch modules as ONNX files, exported once and kept in the user's cache folder."""

from __future__ import annotations

import os
import secrets
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from visterm.compute import progress
from visterm.errors import VistermError
from visterm.vision.deep.networks import OnnxNetwork, TorchNetwork, first_line, imported
from visterm.vision.deep.preprocessing import Preprocessing

#: The exported network may differ by this much from the original, in units of its largest output.
_TOLERANCE = 1e-4


def cache_folder() -> Path:
    """Where exported networks are kept: ``visterm/networks`` below ``XDG_CACHE_HOME``, or else below ``~/.cache``."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "visterm" / "networks"


def export_onnx(module: Any, file: Path, preprocessing: Preprocessing, *, description: str) -> None:
    """Write ``module`` to ``file`` as ONNX for batches of any length.

    The file gets its name only after it is complete and onnxruntime has computed the same result as torch from it.
    """
    torch = imported("torch", f"exporting {description}")
    imported("onnxscript", f"exporting {description}")
    temporary = file.with_name(f".visterm-{secrets.token_hex(8)}.tmp")
    size = preprocessing.size
    sample = np.random.default_rng(0).standard_normal((3, 3, size, size), np.float32)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with progress.task(f"Exporting {description}, once"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch warns of its own deprecations
                torch.onnx.export(
                    module.eval(),
                    (torch.from_numpy(sample[:2]),),
                    temporary,
                    input_names=["pictures"],
                    output_names=["vectors"],
                    dynamic_shapes=({0: torch.export.Dim("n_pictures")},),
                    dynamo=True,
                    external_data=False,
                    verbose=False,
                )
            expected = TorchNetwork(module, preprocessing, device="cpu").embed(sample)
            difference = np.abs(OnnxNetwork(temporary, preprocessing, device="numpy").embed(sample) - expected).max()
            if not difference <= _TOLERANCE * np.abs(expected).max():
                raise VistermError(f"{description} exported to ONNX differs by {difference:.2g}: run it with torch")
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise VistermError(
            f"cannot write {file}: {error.strerror or error}. Set XDG_CACHE_HOME to a folder that can be written to"
        ) from error
    except torch.onnx.OnnxExporterError as error:
        raise VistermError(f"{description} cannot be exported to ONNX: {first_line(error)}") from error
