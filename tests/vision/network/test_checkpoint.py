"""Files of torch weights: read to the last number, and harmless whatever they hold."""

from __future__ import annotations

import ast
import os
import pickle
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.vision import EfficientNetLite0, EfficientNetLite2, read_checkpoint
from visterm.vision.network import checkpoint

# Pickles of protocol 2, instruction by instruction

NONE, FALSE, EMPTY_TUPLE, REDUCE, PERSISTENT = b"N", b"\x89", b")", b"R", b"Q"
MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
LAYOUT = pickle.dumps(1001, 2)
MACHINE = pickle.dumps({"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2}}, 2)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def name(module: str, what: str) -> bytes:
    return f"c{module}\n{what}\n".encode()


def both(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def storage(key: str, n: int, kind: str = "FloatStorage") -> bytes:
    return both(text("storage"), name("torch", kind), text(key), text("cpu"), number(n), NONE) + PERSISTENT


def described(stored: bytes, offset: int, shape: list[int], strides: list[int]) -> bytes:
    sides, steps = both(*map(number, shape)), both(*map(number, strides))
    hooks = name("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
    arguments = both(stored, number(offset), sides, steps, FALSE, hooks)
    return name("torch._utils", "_rebuild_tensor_v2") + arguments + REDUCE


def program(value: bytes) -> bytes:
    return b"\x80\x02" + value + b"."


def state(tensors: dict[str, bytes]) -> bytes:
    items = b"".join(text(key) + value for key, value in tensors.items())
    return program(name("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE + b"(" + items + b"u}b")


def stored(values: dict[str, np.ndarray]) -> bytes:
    numbers = b"".join(struct.pack("<q", one.size) + one.tobytes() for one in values.values())
    return program(b"](" + b"".join(map(text, values)) + b"e") + numbers


FLOATS = np.arange(12, dtype=np.float32)
COUNT = np.array([7], np.int64)
TENSORS = {
    "a": described(storage("1", 12), 0, [3, 2], [2, 1]),
    "transposed": described(storage("1", 12), 6, [2, 3], [1, 2]),
    "count": described(storage("2", 1, "LongStorage"), 0, [], []),
}
PARTS = [MAGIC, LAYOUT, MACHINE, state(TENSORS), stored({"1": FLOATS, "2": COUNT})]


@pytest.fixture
def read(tmp_path):
    def write_and_read(*parts: bytes) -> dict[str, np.ndarray]:
        file = tmp_path / "weights.pth"
        file.write_bytes(b"".join(parts))
        return read_checkpoint(file)

    return write_and_read


def of(tensors: dict[str, bytes], values: dict[str, np.ndarray] | None = None) -> list[bytes]:
    return [*PARTS[:3], state(tensors), stored({"1": FLOATS} if values is None else values)]


def test_arrays_are_read_by_name_shape_and_strides(read):
    arrays = read(*PARTS)
    assert list(arrays) == ["a", "transposed", "count"]
    np.testing.assert_array_equal(arrays["a"], FLOATS[:6].reshape(3, 2))
    np.testing.assert_array_equal(arrays["transposed"], FLOATS[6:].reshape(3, 2).T)
    assert arrays["a"].dtype == np.float32
    assert (arrays["count"].dtype, arrays["count"].shape, int(arrays["count"])) == (np.int64, (), 7)
    arrays["a"][:] = 0  # a copy of its own


@pytest.mark.parametrize("network", [EfficientNetLite0, EfficientNetLite2])
def test_the_weights_of_the_presets_are_read_without_pickle(network, monkeypatch):
    def refused(*_, **__):
        raise AssertionError("pickle was used")

    for used in ("load", "loads", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, used, refused)
    arrays = read_checkpoint(network()._weights())
    assert arrays["_conv_stem.weight"].shape == (32, 3, 3, 3)
    assert arrays["_fc.weight"].shape == (1000, 1280)
    n_weights = sum(one.size for key, one in arrays.items() if key.endswith(("weight", "bias")))
    assert n_weights == {0: 4_652_008, 2: 6_092_072}[network.variant]
    assert all(np.isfinite(one).all() for one in arrays.values())


# Hostile files


class Attack:
    """A pickle that makes a folder when it is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("protocol", range(6))
def test_nothing_that_a_file_asks_for_is_executed(read, tmp_path, place, protocol):
    made = tmp_path / "made"
    hostile = pickle.dumps(Attack(made), protocol)
    with pytest.raises(InputError, match=r"weights\.pth cannot be read as torch weights"):
        read(*PARTS[:place], hostile, *PARTS[place + 1 :])
    assert not made.exists()
    pickle.loads(hostile)
    assert made.exists()  # it would have been


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        (name("os", "system") + both(text("true")) + REDUCE, r"'os\.system'"),
        (name("builtins", "eval") + both(text("1")) + REDUCE, r"'builtins\.eval'"),
        (name("torch", "DoubleStorage"), "DoubleStorage"),
        (name("torch._utils", "_rebuild_tensor"), "_rebuild_tensor'"),
        (name("collections", "OrderedDict.fromkeys"), "fromkeys"),
        (text("os") + text("system") + b"\x93", "STACK_GLOBAL"),
        (b"(ios\nsystem\n", "INST"),
        (b"(" + name("collections", "OrderedDict") + b"o", "OBJ"),
        (name("collections", "OrderedDict") + EMPTY_TUPLE + b"\x81", "NEWOBJ"),
        (b"\x82\x01", "EXT1"),
        (b"Pname\n", "PERSID"),
        (b"B\x01\x00\x00\x00a", "BINBYTES"),
        (name("collections", "OrderedDict") + both(b"]") + REDUCE, "something else than tensors"),
        (text("OrderedDict") + EMPTY_TUPLE + REDUCE, "something else than tensors"),
        (name("torch", "FloatStorage") + EMPTY_TUPLE + REDUCE, "something else than tensors"),
        (both(text("module"), name("torch", "FloatStorage"), *[NONE] * 4) + PERSISTENT, "storage in an unknown way"),
        (both(text("storage"), name("collections", "OrderedDict"), *[NONE] * 4) + PERSISTENT, "unknown way"),
        (b"](N" + b"u", "dict of strings"),
        (b"}NNs", "dict of strings"),
        (b"}(Ne", "a list"),
    ],
)
def test_other_names_and_instructions_are_refused(read, value, refused):
    with pytest.raises(InputError, match=refused):
        read(*PARTS[:3], state({"a": value}), PARTS[4])


def test_a_tuple_nested_without_end_is_refused(read):
    nested = EMPTY_TUPLE + b"\x85" * 20_000
    for value in (nested, both(text("storage"), nested, *[NONE] * 4) + PERSISTENT):
        with pytest.raises(InputError):
            read(*PARTS[:3], state({"a": value}), PARTS[4])
    with pytest.raises(InputError):
        read(*PARTS[:4], program(b"](" + nested + nested + b"e"))


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (described(storage("1", 12), 0, [13], [1]), "more values"),
        (described(storage("1", 12), 1, [12], [1]), "beyond its storage"),
        (described(storage("1", 12), 0, [2, 2], [11, 1]), "beyond its storage"),
        (described(storage("1", 12), 2**20, [1], [1]), "beyond its storage"),
        (described(storage("1", 12), -1, [1], [1]), "something else than tensors"),
        (described(storage("1", 12), 0, [2], [-1]), "something else than tensors"),
        (described(storage("1", 12), 0, [0], [1]), "something else than tensors"),
        (described(storage("1", 12), 0, [2, 2], [1]), "something else than tensors"),
        (described(storage("1", 12), 0, [1] * 9, [1] * 9), "something else than tensors"),
        (described(storage("1", 12), 0, [2**28, 2**28], [0, 0]), "more values"),
        (described(storage("1", 2**28), 0, [1], [1]), "another length"),
        (described(storage("1", -1), 0, [1], [1]), "storage in an unknown way"),
        (described(storage("2", 12), 0, [1], [1]), "not those of its tensors"),
        (both(storage("1", 12)), "something else than tensors"),
    ],
)
def test_tensors_stay_inside_their_storages(read, tensor, reason):
    with pytest.raises(InputError, match=reason):
        read(*of({"a": tensor}))


@pytest.mark.parametrize("other", [storage("1", 11), storage("1", 12, "LongStorage")])
def test_a_storage_is_described_in_one_way(read, other):
    tensors = {"a": described(storage("1", 12), 0, [3], [1]), "b": described(other, 0, [3], [1])}
    with pytest.raises(InputError, match="in two ways"):
        read(*of(tensors))


def test_tensors_together_are_no_larger_than_the_file(read):
    whole = described(storage("1", 12), 0, [12], [1])
    assert len(read(*of({"a": whole}))) == 1
    with pytest.raises(InputError, match="more values"):
        read(*of({"a": whole, "b": whole}))


def test_sizes_that_are_only_claimed_take_no_memory(read):
    for claim in (b"r\xff\xff\xff\x7f", b"X\xff\xff\xff\xff", b"\x8b\xff\xff\xff\x7f"):
        with pytest.raises(InputError):
            read(*PARTS[:3], program(NONE + claim), PARTS[4])


def test_the_number_of_instructions_is_limited(read, monkeypatch):
    monkeypatch.setattr(checkpoint, "_MAX_INSTRUCTIONS", 20)
    with pytest.raises(InputError, match="more than 20 instructions"):
        read(*PARTS)


def test_the_size_of_the_file_is_limited(read, monkeypatch):
    monkeypatch.setattr(checkpoint, "_MAX_BYTES", 100)
    with pytest.raises(InputError, match="more than 100 bytes"):
        read(*PARTS)


def test_a_file_cut_off_anywhere_is_refused(read):
    whole = b"".join(PARTS)
    for length in range(len(whole)):
        with pytest.raises(InputError):
            read(whole[:length])
    with pytest.raises(InputError, match="something follows"):
        read(whole, b"\0")


def test_a_file_with_a_wrong_byte_is_read_or_refused(read):
    whole = b"".join(PARTS)
    rng = np.random.default_rng(0)
    n_read = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        with suppress(InputError):
            n_read += bool(read(bytes(damaged)))
    assert 0 < n_read < len(whole) / 2  # numbers and names may be any


def test_other_files_are_refused(read, tmp_path):
    for data in (b"", b"weights", b"\x80\x05N."):
        with pytest.raises(InputError, match="cannot be read as torch weights"):
            read(data)
    with pytest.raises(InputError, match="byte order"):
        read(*PARTS[:2], MACHINE.replace(b"\x88", b"\x89"), *PARTS[3:])
    with zipfile.ZipFile(tmp_path / "zipped.pth", "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    with pytest.raises(InputError, match="zip layout"):
        read_checkpoint(tmp_path / "zipped.pth")
    for path in (tmp_path, tmp_path / "nothing.pth"):
        with pytest.raises(InputError, match="cannot read"):
            read_checkpoint(path)


def test_no_module_of_visterm_imports_pickle():
    unsafe = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill"}
    for file in (Path(__file__).parents[3] / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if not any(name in text for name in unsafe):
            continue  # most files are read, and not parsed
        for found in ast.walk(ast.parse(text)):
            names = [found.module or ""] if isinstance(found, ast.ImportFrom) else []
            names += [alias.name for alias in found.names] if isinstance(found, ast.Import) else []
            assert not unsafe & set(names), file
