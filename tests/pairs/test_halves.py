"""A model with both halves is cut in two: each half gives the same as before, and has nothing of the other."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_pair import IDS, N_DIMS, PIXELS

from visterm.compute.onnx_file import field, model, node, tensor, tensor_info
from visterm.compute.onnx_session import open_session
from visterm.errors import InputError
from visterm.pairs.halves import cut


@pytest.fixture
def both(tiny, tmp_path):
    file = tmp_path / "model.onnx"
    file.write_bytes(tiny.both())
    return file


@pytest.mark.parametrize(
    ("output", "taken", "given"),
    [
        ("image_embeds", "pixel_values", np.random.default_rng(0).normal(size=(2, 3, 48, 48)).astype(np.float32)),
        ("text_embeds", "input_ids", np.array([[3, 4, 5], [6, 7, 8]])),
    ],
)
def test_a_half_gives_the_same_and_takes_only_what_it_needs(both, tmp_path, output, taken, given):
    other = {"pixel_values": np.zeros((1, 3, 48, 48), np.float32), "input_ids": np.zeros((1, 1), np.int64)}
    (expected,) = open_session(both.read_bytes(), "both").run([output], other | {taken: given})
    cut(both, output, tmp_path / "half.onnx")
    half = open_session((tmp_path / "half.onnx").read_bytes(), "half")
    assert [one.name for one in half.get_inputs()] == [taken]
    assert [one.name for one in half.get_outputs()] == [output]
    np.testing.assert_array_equal(half.run(None, {taken: given})[0], expected)
    assert expected.shape == (2, N_DIMS)


def test_a_half_is_as_another_tool_cuts_it(both, tmp_path):
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    for output, taken in (("image_embeds", "pixel_values"), ("text_embeds", "input_ids")):
        cut(both, output, tmp_path / f"{output}.onnx")
        onnx.utils.extract_model(str(both), str(tmp_path / "other.onnx"), [taken], [output], check_model=False)
        ours, other = (onnx.load(tmp_path / name).graph for name in (f"{output}.onnx", "other.onnx"))
        onnx.checker.check_model(onnx.load(tmp_path / f"{output}.onnx"))
        for part in ("node", "initializer", "input", "output"):
            names = [sorted(str(one) for one in getattr(graph, part)) for graph in (ours, other)]
            assert names[0] == names[1], part


def test_what_a_branch_takes_from_outside_is_kept(tmp_path):
    """The branches of an If take constants by name from the graph around it."""
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    helper, kinds = onnx.helper, onnx.TensorProto

    def branch(name):
        result = helper.make_tensor_value_info(f"{name}_out", kinds.FLOAT, None)
        return helper.make_graph([helper.make_node("Identity", [name], [f"{name}_out"])], name, [], [result])

    graph = helper.make_graph(
        [
            helper.make_node("If", ["yes"], ["image_embeds"], then_branch=branch("two"), else_branch=branch("one")),
            helper.make_node("Neg", ["three"], ["text_embeds"]),
        ],
        "pair",
        [helper.make_tensor_value_info("yes", kinds.BOOL, [])],
        [helper.make_tensor_value_info(name, kinds.FLOAT, None) for name in ("image_embeds", "text_embeds")],
        [onnx.numpy_helper.from_array(np.float32(i), name) for i, name in enumerate(("zero", "one", "two", "three"))],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "model.onnx").write_bytes(whole.SerializeToString())
    cut(tmp_path / "model.onnx", "image_embeds", tmp_path / "half.onnx")
    half = open_session((tmp_path / "half.onnx").read_bytes(), "half")
    assert [float(half.run(None, {"yes": np.array(yes)})[0]) for yes in (True, False)] == [2, 1]
    assert {one.name for one in onnx.load(tmp_path / "half.onnx").graph.initializer} == {"one", "two"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a usable ONNX model: it has 0 graphs"),
        (b"no model at all", "not a usable ONNX model"),
        (b"\xff" * 100, "its numbers cannot be read"),
        (field(7, b"") * 2, "it has 2 graphs"),
        (field(7, b"\x0a\x7f"), "it is cut off"),
        (field(7, b"\x0a"), "it is cut off"),
        (field(7, b"\x0b"), "its fields cannot be read"),
        (model([node("Identity", ["pixel_values"], "y")], [], [PIXELS], [tensor_info("y", [1])]), "no output image_em"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, data, message):
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(InputError, match=message):
        cut(tmp_path / "model.onnx", "image_embeds", tmp_path / "half.onnx")
    assert not (tmp_path / "half.onnx").exists()


def test_graphs_nested_without_end_are_refused(tmp_path):
    inner = b""
    for _ in range(50):
        inner = field(1, field(2, "image_embeds") + field(5, field(6, inner)))
    (tmp_path / "model.onnx").write_bytes(field(7, inner + field(12, field(1, "image_embeds"))))
    with pytest.raises(InputError, match="nested too deep"):
        cut(tmp_path / "model.onnx", "image_embeds", tmp_path / "half.onnx")


def test_every_beginning_of_a_model_is_read_or_refused(both, tmp_path):
    data = both.read_bytes()
    for end in range(0, len(data), 997):
        both.write_bytes(data[:end])
        with pytest.raises(InputError):
            cut(both, "text_embeds", tmp_path / "half.onnx")


def test_constants_that_both_halves_need_are_in_both(tmp_path):
    shared = tensor("shared", np.ones((1, N_DIMS), np.float32))
    nodes = [node("Identity", ["shared"], name) for name in ("image_embeds", "text_embeds")]
    outputs = [tensor_info(name, [1, N_DIMS]) for name in ("image_embeds", "text_embeds")]
    (tmp_path / "model.onnx").write_bytes(model(nodes, [shared], [PIXELS, IDS], outputs))
    for output in ("image_embeds", "text_embeds"):
        cut(tmp_path / "model.onnx", output, tmp_path / output)
        half = open_session((tmp_path / output).read_bytes(), "half")
        assert half.get_inputs() == []
        assert half.run(None, {})[0].sum() == N_DIMS
