"""Pretrained networks: pictures prepared, embedded by torch or onnxruntime, presets and networks known by name."""
