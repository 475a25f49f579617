"""Modules import each other in one direction, for their types too."""

from __future__ import annotations

import grimp
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

#: Packages in which not even two modules import each other.
WITHOUT_CYCLES = {"collection", "documents", "faces", "find", "labels", "learn", "review", "upkeep", "workspace"}


def cycles():
    """Modules that reach each other by imports, those inside functions and for types included."""
    graph = grimp.build_graph("visterm", exclude_type_checking_imports=False)
    modules = sorted(graph.modules)
    number = {module: place for place, module in enumerate(modules)}
    pairs = [(number[a], number[b]) for a in modules for b in graph.find_modules_directly_imported_by(a)]
    matrix = coo_array((np.ones(len(pairs)), np.array(pairs).T), shape=(len(modules), len(modules)))
    n_groups, group_of = connected_components(matrix, connection="strong")
    groups = [[modules[place] for place in np.flatnonzero(group_of == group)] for group in range(n_groups)]
    return [group for group in groups if len(group) > 1]


def package_of(module):
    return module.split(".")[1] if "." in module else ""


def test_no_cycle_crosses_packages():
    assert [group for group in cycles() if len({package_of(module) for module in group}) > 1] == []


def test_packages_about_pictures_have_no_cycle():
    assert [group for group in cycles() if package_of(group[0]) in WITHOUT_CYCLES] == []
