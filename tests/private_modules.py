"""A contract of import-linter: a module whose name begins with an underscore belongs to its package alone."""

from __future__ import annotations

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """No package imports another package's private module."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        broken = [
            (importer, private)
            for private in sorted(graph.modules)
            if _owner(private) is not None
            for importer in sorted(graph.find_modules_that_directly_import(private))
            if not f"{importer}.".startswith(f"{_owner(private)}.")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: Any) -> None:
        for importer, private in check.metadata["broken"]:
            output.print_error(f"{importer} imports {private}, which is private to {_owner(private)}")


def _owner(module: str) -> str | None:
    """The package that a private module belongs to; None for public modules.

    >>> _owner("visterm.topics._kernels_lda"), _owner("visterm.topics.lda")
    ('visterm.topics', None)
    """
    parts = module.split(".")
    private = [place for place, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
    return ".".join(parts[: private[0]]) if private else None
