"""The device on the command line and in Python."""

from __future__ import annotations

import os

import pytest

from visterm.compute import choose_device
from visterm.workspace import Workspace


@pytest.mark.parametrize("arguments", [["train"], ["evaluate", "knn"], ["features", "bag"]])
def test_a_device_that_is_none_is_refused(visterm, workspace, arguments):
    assert "unknown device 'tpu'" in visterm(*arguments, "--device", "tpu", "-w", workspace, code=1).stderr


def test_a_device_holds_for_the_process_and_those_that_it_starts(monkeypatch):
    monkeypatch.setenv("VISTERM_DEVICE", "tpu")  # what is said goes with the test
    Workspace.use_device("numpy")
    assert os.environ["VISTERM_DEVICE"] == choose_device().name == "numpy"
    Workspace.use_device(None)
    assert "VISTERM_DEVICE" not in os.environ
