"""A tiny image-text pair, learned from postcards and their captions, in the files that public exporters write."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from visterm.compute import Engine
from visterm.compute.onnx_file import INT64, model, node, tensor, tensor_info
from visterm.postcards import make_postcards

SIZE, CELL, N_DIMS, LENGTH = 48, 6, 16, 12
MEAN, DEVIATION = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
SPECIAL = ["<pad>", "<unk>", "</s>"]

PREPARATION = {
    "do_center_crop": True,
    "crop_size": {"height": SIZE, "width": SIZE},
    "do_resize": True,
    "size": {"shortest_edge": SIZE},
    "resample": 3,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": list(MEAN),
    "image_std": list(DEVIATION),
}


def prepared(picture: Image.Image) -> np.ndarray:
    """What an image processor does, step by step: resize the shorter side, cut the centre, rescale, normalise."""
    width, height = picture.size
    shorter = min(width, height)
    resized = picture.resize((int(SIZE * width / shorter), int(SIZE * height / shorter)), Image.Resampling.BICUBIC)
    left, top = (resized.width - SIZE) // 2, (resized.height - SIZE) // 2
    pixels = np.asarray(resized.crop((left, top, left + SIZE, top + SIZE)), np.float64) / 255
    return ((pixels - MEAN) / DEVIATION).transpose(2, 0, 1).astype(np.float32)


def cells(batch: np.ndarray) -> np.ndarray:
    """Mean colours of cells: (n, 3 * (SIZE / CELL) ** 2)."""
    n, side = len(batch), SIZE // CELL
    return batch.reshape(n, 3, side, CELL, side, CELL).mean((3, 5)).reshape(n, -1)


class TinyPair:
    """Word vectors and a matrix from mean colours to them, both learned; the text vector is the sum of its words'."""

    def __init__(self, folder: Path, n_pictures: int = 120) -> None:
        make_postcards(folder, n_pictures, seed=1, engine=Engine(n_jobs=1))
        rows = [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").splitlines()]
        captions = [re.findall(r"\w+|[^\w\s]+", row["caption"].lower()) for row in rows]
        self.vocabulary = SPECIAL + sorted({word for caption in captions for word in caption})
        number = {word: i for i, word in enumerate(self.vocabulary)}
        bags = np.zeros((len(rows), len(number)))
        for bag, caption in zip(bags, captions, strict=True):
            for word in caption:
                bag[number[word]] += 1
        weights = np.log(len(rows) / np.maximum(1, (bags > 0).sum(0)))
        _, _, axes = np.linalg.svd(bags * weights - (bags * weights).mean(0), full_matrices=False)
        self.words = (axes[:N_DIMS] * weights).T.astype(np.float32)
        self.words[: len(SPECIAL)] = 0
        texts = bags @ self.words
        texts = texts / np.linalg.norm(texts, axis=1, keepdims=True)
        X = cells(np.stack([prepared(Image.open(folder / row["file_name"]).convert("RGB")) for row in rows]))
        centred, target = X - X.mean(0), texts - texts.mean(0)
        gram = centred.T @ centred
        ridge = 0.1 * np.trace(gram) / len(gram)
        self.map = np.linalg.solve(gram + ridge * np.eye(len(gram)), centred.T @ target).astype(np.float32)
        self.bias = (texts.mean(0) - X.mean(0) @ self.map).astype(np.float32)

    def picture_vectors(self, batch: np.ndarray) -> np.ndarray:
        """What the picture half computes, of length one."""
        found = cells(batch) @ self.map + self.bias
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def text_vectors(self, texts: list[str]) -> np.ndarray:
        """What the text half computes, of length one; unknown words have no vector."""
        number = {word: i for i, word in enumerate(self.vocabulary)}
        words = [re.findall(r"\w+|[^\w\s]+", text.lower())[: LENGTH - 1] for text in texts]
        found = np.array([sum((self.words[number.get(word, 1)] for word in own), self.words[2]) for own in words])
        return found / np.maximum(1e-30, np.linalg.norm(found, axis=1, keepdims=True))

    def picture_nodes(self) -> tuple[list[bytes], list[bytes]]:
        nodes = [
            node("AveragePool", ["pixel_values"], "cells", kernel_shape=(CELL, CELL), strides=(CELL, CELL)),
            node("Flatten", ["cells"], "flat", axis=1),
            node("Gemm", ["flat", "map", "bias"], "image_embeds"),
        ]
        return nodes, [tensor("map", self.map), tensor("bias", self.bias)]

    def text_nodes(self) -> tuple[list[bytes], list[bytes]]:
        nodes = [
            node("Gather", ["words", "input_ids"], "found"),
            node("ReduceSum", ["found", "one"], "text_embeds", keepdims=0),
        ]
        return nodes, [tensor("words", self.words), tensor("one", np.array([1], np.int64))]

    def vision_model(self) -> bytes:
        return model(*self.picture_nodes(), [PIXELS], [IMAGE_EMBEDS])

    def text_model(self) -> bytes:
        return model(*self.text_nodes(), [IDS], [TEXT_EMBEDS])

    def both(self) -> bytes:
        """One model with both halves, and what CLIP adds: the products of all texts and pictures."""
        (nodes, constants), (more, others) = self.picture_nodes(), self.text_nodes()
        nodes += [
            *more,
            node("Transpose", ["image_embeds"], "turned", perm=(1, 0)),
            node("MatMul", ["text_embeds", "turned"], "logits_per_text"),
        ]
        logits = tensor_info("logits_per_text", ["texts", "pictures"])
        return model(nodes, constants + others, [IDS, PIXELS], [logits, TEXT_EMBEDS, IMAGE_EMBEDS])

    def tokenizer(self) -> dict:
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}},
            },
            "decoder": None,
            "model": {
                "type": "WordLevel",
                "vocab": {word: i for i, word in enumerate(self.vocabulary)},
                "unk_token": "<unk>",
            },
        }

    def files(self) -> dict[str, bytes]:
        """The files of an export, by name."""
        settings = {
            "tokenizer.json": self.tokenizer(),
            "tokenizer_config.json": {"model_max_length": LENGTH, "pad_token": "<pad>"},
            "preprocessor_config.json": PREPARATION,
            "config.json": {"model_type": "clip", "text_config": {"max_position_embeddings": LENGTH}},
        }
        return {
            "onnx/vision_model.onnx": self.vision_model(),
            "onnx/text_model.onnx": self.text_model(),
            **{name: json.dumps(value).encode() for name, value in settings.items()},
        }


PIXELS = tensor_info("pixel_values", ["pictures", 3, "height", "width"])
IDS = tensor_info("input_ids", ["texts", "length"], INT64)
IMAGE_EMBEDS = tensor_info("image_embeds", ["pictures", N_DIMS])
TEXT_EMBEDS = tensor_info("text_embeds", ["texts", N_DIMS])


def write_folder(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path
