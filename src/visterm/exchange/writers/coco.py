"""COCO-style JSON: regions as object annotations, captions as caption annotations.

COCO has no place for labels of a whole picture: its accepted tags are written to ``image_tags`` of the picture's entry,
and its class to ``class``; :mod:`visterm.exchange.readers.coco` reads both. Suggestions of models, if wanted, go to
``suggested_tags`` with their scores, which nothing reads as labels. Categories are the names of regions.
Pictures are named as in the catalogue, relative to the collection's root.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from visterm.catalogue.pictures import Picture
from visterm.storage import replacing


def write_coco(pictures: Iterable[Picture], file: Path, *, suggestions: bool = False) -> int:
    """Write the pictures that have a file name to ``file``, whole or not at all; returns their number."""
    categories: dict[str, int] = {}
    # Annotations come after all pictures in the file; until then they are on disk, since there may be millions.
    with (
        replacing(file) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as stream,
        TemporaryFile("w+", encoding="utf-8", newline="\n", dir=file.parent) as annotations,
    ):
        n_pictures = n_annotations = 0
        stream.write('{"info": {"description": "Labels exported by Visterm"},\n"images": [')
        for picture in pictures:
            if not picture.paths:
                continue
            stream.write(_item(_image(picture, suggestions=suggestions), first=n_pictures == 0))
            n_pictures += 1
            for annotation in _annotations(picture, categories):
                annotation = {"id": n_annotations + 1, "image_id": picture.id, **annotation}
                annotations.write(_item(annotation, first=n_annotations == 0))
                n_annotations += 1
        stream.write('],\n"annotations": [')
        annotations.seek(0)
        shutil.copyfileobj(annotations, stream)
        listed = [{"id": number, "name": name} for name, number in categories.items()]
        stream.write(f'],\n"categories": {json.dumps(listed, ensure_ascii=False)}}}\n')
    return n_pictures


def _item(value: dict[str, Any], *, first: bool) -> str:
    return ("\n" if first else ",\n") + json.dumps(value, ensure_ascii=False)


def _image(picture: Picture, *, suggestions: bool) -> dict[str, Any]:
    image: dict[str, Any] = {"id": picture.id, "file_name": picture.paths[0]}
    if picture.width is not None and picture.height is not None:
        image |= {"width": picture.width, "height": picture.height}
    if picture.class_label is not None:
        image["class"] = picture.class_label.name
    image["image_tags"] = [label.name for label in picture.tags if label.state == "accepted"]
    if suggestions:
        image["suggested_tags"] = {label.name: label.score for label in picture.tags if label.state == "suggested"}
    return image


def _annotations(picture: Picture, categories: dict[str, int]) -> Iterator[dict[str, Any]]:
    for region in picture.regions:
        width, height = region.right - region.left, region.bottom - region.top
        yield {
            "category_id": categories.setdefault(region.name, len(categories) + 1),
            "bbox": [region.left, region.top, width, height],
            "area": width * height,
            "iscrowd": 0,
        }
    if picture.caption:
        yield {"caption": picture.caption}
