"""Feeds damaged files to every reader of labels: each gives records or one named error, quickly and in little memory.

    python tests/attacks/fuzz_exchange.py --runs 20000 --seed 1 [--only jpeg,csv] [--keep FOLDER]

Seeds are valid files, made here; a mutator with a fixed seed damages them. An input that fails is kept under its
target's name; files in ``corpus/exchange`` beside this script failed once, and tests/exchange/test_fuzz.py reads them.
With ``--guided TARGET`` and the package atheris installed, the coverage of the code guides the mutations instead.
"""

from __future__ import annotations

import argparse
import gzip
import inspect
import io
import json
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import md5, sha256
from pathlib import Path
from types import FrameType

from visterm.errors import VistermError
from visterm.exchange import PacketLabels, merge_packet, read_embedded, read_hvecs, read_iptc, read_packet
from visterm.exchange.readers import READERS, open_labels
from visterm.exchange.readers.ldac import read_bags, read_labels

CORPUS = Path(__file__).parent / "corpus" / "exchange"
MAX_SECONDS = 5
#: What one input may need beyond the program itself.
MAX_BYTES = 2**30

TOKENS = [
    b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"', b"'", b",", b";", b"\t", b"|", b"]",
    b"{", b"}", b"[" * 5000, b'{"a":' * 3000, b"null", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"\\ud800", b"true",
    b"<", b"&", b"&#0;", b"]]>", b"<!DOCTYPE a [", b"<!ENTITY a 'b'>", b"<rdf:li>", b"</rdf:li>", b"<a>" * 3000,
    b"\x1c\x02\x19", b"8BIM\x04\x04", b"\xff\xe1", b"\xff\xed", b"Exif\0\0", b"II*\0", b"MM\0*", b"!\xff\x0b",
    b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0", b"\xff\x7f", b"file_name", b"../../../x", b"/etc/passwd",
]  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Something that reads bytes: valid examples, and how it is called with a file that holds them."""

    file_name: str
    seeds: list[bytes]
    read: Callable[[Path], None]


def _labels(format: str, *, folder: bool = False) -> Callable[[Path], None]:
    def read(file: Path) -> None:
        for name in READERS:
            READERS[name].detect(file.parent if folder else file)
        reading, _, records = open_labels(file.parent if folder else file, format)
        for record in records:
            "\n".join([record.path, *record.tags, record.caption or "", record.class_name or ""]).encode()
        assert all("\n" not in str(line) for line in reading.skips), "a reason is one line"

    return read


def _sidecar(file: Path) -> None:
    data = file.read_bytes()
    read_packet(data)
    labels = PacketLabels(tags=("*", "C++"), class_name="a,b", caption="x")
    merged = merge_packet(data, labels)
    assert {"*", "C++"} <= set(read_packet(merged).tags)
    assert merge_packet(merged, labels) == merged


def _annotation(outline: str) -> bytes:
    return f"<annotation><filename>a.jpg</filename><object><name>boat</name>{outline}</object></annotation>".encode()


#: How many targets there are, for ``fuzz.py``.
N_TARGETS = 22


def targets() -> dict[str, Target]:
    """Every reader, with seeds."""
    packet = merge_packet(None, PacketLabels(tags=("sea", "sky"), class_name="coast", caption="Two\nlines"))
    row = {"file_name": "a.jpg", "class": "coast", "tags": ["sea", "a,b"], "caption": "x", "split": "train"}
    coco = {
        "images": [
            {"id": 1, "file_name": "a.jpg", "class": "coast", "image_tags": ["sea"]},
            {"id": "2", "file_name": "b"},
        ],
        "annotations": [{"image_id": 1, "category_id": 3, "bbox": [1, 2, 3, 4]}, {"image_id": "2", "caption": "x"}],
        "categories": [{"id": 3, "name": "boat"}],
    }
    table = 'file_name;class;tags;caption\na.jpg;coast;"[""a,b"", ""*""]";"two\nlines"\nb.jpg;;sea|sky;\n'
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox>"
    outline = "<polygon><pt><x>1</x><y>2</y></pt><pt><x>3</x><y>4</y></pt></polygon>"
    pictures = _pictures(packet)
    found = {
        "csv": Target(
            "a.csv", [table.encode(), table.encode("utf-16"), table.replace("\n", "\r").encode()], _labels("table")
        ),
        "jsonl": Target("a.jsonl", [(json.dumps(row) + "\n").encode() * 3], _labels("table")),
        "coco": Target("a.json", [json.dumps(coco).encode()], _labels("coco")),
        "captions": Target(
            "a.txt", [b"A boat.\nThe sea.\n", "Ein Boot über".encode()], _labels("captions", folder=True)
        ),
        "voc": Target("a.xml", [_annotation(box)], _labels("voc")),
        "labelme": Target("a.xml", [_annotation(outline)], _labels("labelme")),
        "corel": Target("training_label", [b"1000 1 2\n2000 2\n"], _labels("corel", folder=True)),
        "uiuc": Target("uiuc-sports-info.txt", [b"polo a.jpg\npolo b.jpg\n"], _labels("uiuc", folder=True)),
        "sidecar": Target("a.jpg.xmp", [packet, packet.decode().encode("utf-16")], _sidecar),
        "sidecar-folder": Target("a.jpg.xmp", [packet], _labels("xmp", folder=True)),
        "iptc": Target("a.iptc", [_IPTC], lambda file: print(read_iptc(file.read_bytes()), file=io.StringIO())),
        "bags": Target("a.dat", [b"2 0:1 3:2\n1 4:1\n0\n"], lambda file: print(read_bags(file), file=io.StringIO())),
        "numbers": Target("a.dat", [b"1\n-1\n0\n"], lambda file: print(read_labels(file), file=io.StringIO())),
        "vectors": Target("a.fvecs", [struct.pack("<I2f", 2, 1, 2) * 3], _vectors),
        "zipped": Target("a.hvecs.gz", [gzip.compress(struct.pack("<H2H", 2, 1, 2) * 3)], _vectors),
    }
    found |= {name: Target(f"a.{name}", seeds, _picture) for name, seeds in pictures.items()}
    try:
        found["parquet"] = Target("a.parquet", [_parquet(row)], _labels("parquet"))
    except ImportError:
        print("pyarrow is not installed: Parquet is left out", file=sys.stderr)
    return found


def _vectors(file: Path) -> None:
    read_hvecs(file, max_bytes=2**26)


def _picture(file: Path) -> None:
    read_embedded(file)
    _labels("xmp", folder=True)(file)


_IPTC = b"".join(
    struct.pack(">BBBH", 0x1C, record, number, len(value)) + value
    for record, number, value in ((1, 90, b"\x1b%G"), (2, 25, b"sea"), (2, 25, "Łódź".encode()), (2, 120, b"A boat"))
)


def _exif() -> bytes:
    texts = {0x010E: b"A boat on the sea\0", 0x9C9E: "sea;sky\0".encode("utf-16-le")}
    head, values = b"II*\0" + struct.pack("<IH", 8, len(texts)), b""
    at = len(head) + 12 * len(texts) + 4
    for tag, value in texts.items():
        head += struct.pack("<HHII", tag, 1, len(value), at + len(values))
        values += value
    return head + bytes(4) + values


def _pictures(packet: bytes) -> dict[str, list[bytes]]:
    from PIL import Image

    def saved(format: str, **options: object) -> bytes:
        stream = io.BytesIO()
        Image.new("RGB", (16, 8), "navy").save(stream, format, **options)
        return stream.getvalue()

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    resources = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(_IPTC)) + _IPTC + bytes(len(_IPTC) % 2)
    name = md5(packet, usedforsecurity=False).hexdigest().encode()
    main = packet.replace(b'rdf:about=""', b'rdf:about="" xmlns:n="urn:n" n:HasExtendedXMP="%s"' % name)
    halves = [(at, packet[at : at + 400]) for at in range(0, len(packet), 400)]
    segments = [
        b"\xff\xe1Exif\0\0" + _exif(),
        b"\xff\xe1http://ns.adobe.com/xap/1.0/\0" + main,
        *(
            b"\xff\xe1http://ns.adobe.com/xmp/extension/\0" + name + struct.pack(">II", len(packet), at) + part
            for at, part in halves
        ),
        b"\xff\xedPhotoshop 3.0\0" + resources,
    ]
    segments = [segment[:2] + struct.pack(">H", len(segment)) + segment[2:] for segment in segments]
    jpeg, png, gif = saved("JPEG"), saved("PNG"), saved("GIF")
    profile = b"\niptc\n%8d\n%s\n" % (len(resources), resources.hex().encode())
    chunks = [
        chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet),
        chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(packet)),
        chunk(b"zTXt", b"Raw profile type iptc\0\0" + zlib.compress(profile)),
        chunk(b"eXIf", _exif()),
    ]
    return {
        "jpg": [jpeg[:2] + b"".join(segments) + jpeg[2:]],
        "png": [png[:33] + b"".join(chunks) + png[33:], png[:33] + b"".join(chunks[1:]) + png[33:]],
        "webp": [saved("WEBP", xmp=packet, exif=b"Exif\0\0" + _exif())],
        "tif": [saved("TIFF", tiffinfo={700: packet, 33723: _IPTC, 0x010E: "A boat"})],
        "gif": [gif[:-1] + b"!\xff\x0bXMP DataXMP" + packet + bytes([1, *range(255, -1, -1), 0]) + b";"],
    }


def _parquet(row: dict[str, object]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([row] * 3), stream)
    return stream.getvalue()


def mutate(data: bytes, rng: random.Random) -> bytes:
    """``data`` with one to eight kinds of damage."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at, size = rng.randrange(len(changed) + 1), rng.choice((1, 1, 2, 4, 16, 200))
        match rng.randrange(8):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << rng.randrange(8)
            case 1 if changed:
                changed[at % len(changed)] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
            case 2:
                del changed[at : at + size]
            case 3:
                changed[at:at] = rng.choice(TOKENS)
            case 4:
                changed[at : at + size] = rng.choice(TOKENS)
            case 5:
                start = rng.randrange(len(changed) + 1)
                changed[at:at] = changed[start : start + size] * rng.choice((1, 1, 50))
            case 6 if rng.random() < 0.3:
                del changed[at:]
            case _:
                changed[at : at + 4] = struct.pack(
                    rng.choice("<>") + "I", rng.choice((0, 1, len(changed), 2**31, 2**32 - 1))
                )
    return bytes(changed)


class HangError(Exception):
    """An input took too long."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise :class:`HangError` after :data:`MAX_SECONDS`, and MemoryError beyond :data:`MAX_BYTES`."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise HangError(f"took more than {MAX_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES, limits[1]))
    signal.alarm(MAX_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, before)


def attempt(target: Target, data: bytes, folder: Path) -> None:
    """Read ``data`` once; anything but records and a :class:`VistermError` is raised."""
    file = folder / target.file_name
    file.write_bytes(data)
    try:
        target.read(file)
    except VistermError as error:
        if not str(error).strip():
            raise AssertionError("an error says something") from error


@contextmanager
def prepared(name: str) -> Iterator[Path]:
    """An empty folder with what the readers expect beside the file under attack."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as made:
        folder = Path(made)
        for target, files in {
            "corel": {"words": b"sea\nsky\n"},
            "uiuc": {"uiuc-sports-annotations.txt": b"horse,man\nhorse\n"},
            "captions": {"a.jpg": b""},
            "sidecar-folder": {"a.jpg": b""},
        }.items():
            if target == name:
                for file, content in files.items():
                    (folder / file).write_bytes(content)
        yield folder


def fuzz(names: list[str], n_runs: int, seed: int, keep: Path) -> int:
    """Attack each target ``n_runs`` times; returns how many inputs failed."""
    n_failed = 0
    for name in names:
        target, rng = targets()[name], random.Random(f"{seed} {name}")
        start, slowest = time.process_time(), 0.0
        with prepared(name) as folder:
            for _ in range(n_runs):
                data = mutate(rng.choice(target.seeds), rng)
                (keep / f"{name}-last").write_bytes(data)  # found here if the process itself dies
                before = time.process_time()
                try:
                    with limited():
                        attempt(target, data, folder)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    n_failed += 1
                    place = keep / f"{name}-{sha256(data).hexdigest()[:12]}"
                    place.write_bytes(data)
                    print(f"{place}: {traceback.format_exc(limit=-3)}", flush=True)
                slowest = max(slowest, time.process_time() - before)
        (keep / f"{name}-last").unlink(missing_ok=True)
        print(f"{name}: {n_runs} inputs, {time.process_time() - start:.1f} s, slowest {slowest:.3f} s", flush=True)
    return n_failed


def guided(name: str, arguments: list[str]) -> None:
    """Let atheris find inputs; it runs until an input fails, or as its own arguments say (such as -runs=100000)."""
    import atheris

    target = targets()[name]
    with prepared(name) as folder:
        attempt(target, target.seeds[0], folder)  # imports what it needs
        for module in [module for key, module in sys.modules.items() if key.startswith("visterm.exchange.")]:
            for function in vars(module).values():
                if inspect.isfunction(function) and function.__module__ == module.__name__:
                    atheris.instrument_func(function)
        corpus = folder.parent / f"{folder.name}-seeds"
        corpus.mkdir()
        for number, data in enumerate(target.seeds):
            (corpus / str(number)).write_bytes(data)
        atheris.Setup(
            [sys.argv[0], str(corpus), f"-timeout={MAX_SECONDS}", *arguments],
            lambda data: attempt(target, data, folder),
        )
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000, help="inputs for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="targets, separated by commas")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-exchange")
    parser.add_argument("--guided", metavar="TARGET", help="use atheris; what follows -- goes to it")
    options, rest = parser.parse_known_args()
    if options.guided:
        guided(options.guided, [item for item in rest if item != "--"])
        return 0
    options.keep.mkdir(parents=True, exist_ok=True)
    names = options.only.split(",") if options.only else list(targets())
    return 1 if fuzz(names, options.runs, options.seed, options.keep) else 0


if __name__ == "__main__":
    sys.exit(main())
