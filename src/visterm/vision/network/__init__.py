"""Pretrained networks: preprocessing, embedding by torch or onnxruntime, presets and networks by name."""
