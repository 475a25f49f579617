"""Lists the licence of every package that Visterm needs, and fails if one is unknown or not permissive.

    python tests/attacks/licences.py

It reads what the installed packages say of themselves; nothing is downloaded. Known vulnerabilities are checked against
a public database, which needs the network: ``pip install pip-audit && pip-audit``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

#: Licences under which a package may be used and given away with a program of any licence.
PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|0BSD|MPL|Mozilla Public|HPND|Unlicense|CC0|CNRI)\b",
    re.I,
)


def needed(package: str, seen: set[str]) -> set[str]:
    """A package and all that it needs, without extras."""
    name = re.sub(r"[-_.]+", "-", package).lower()
    if name in seen:
        return seen
    try:
        requirements = distribution(name).requires or []
    except PackageNotFoundError:  # needed on another system only
        return seen
    seen.add(name)
    for requirement in requirements:
        wanted, _, condition = requirement.partition(";")
        if "extra" not in condition:
            needed(re.match(r"[\w.-]+", wanted).group(), seen)
    return seen


def licence(package: str) -> str:
    """What a package says its licence is."""
    about = distribution(package).metadata
    classifiers = [
        text.split("::")[-1].strip() for text in about.get_all("Classifier", []) if text.startswith("License")
    ]
    said = about.get("License-Expression") or " / ".join(classifiers) or (about.get("License") or "")
    if not said.strip() or said.strip() == "UNKNOWN":
        files = [file for file in distribution(package).files or [] if "LICEN" in file.name.upper()]
        text = " ".join(file.read_text() for file in files)
        said = f"{found.group()}, by its licence file" if (found := PERMISSIVE.search(text)) else "unknown"
    return said.strip().splitlines()[0][:80]


def main() -> int:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    packages: set[str] = set()
    for requirement in project["dependencies"]:
        needed(re.match(r"[\w.-]+", requirement).group(), packages)
    unclear = []
    for package in sorted(packages):
        found = licence(package)
        print(f"{package} {distribution(package).version}: {found}")
        if not PERMISSIVE.search(found):
            unclear.append(package)
    print(f"unclear: {', '.join(unclear)}" if unclear else "all licences are permissive")
    return bool(unclear)


if __name__ == "__main__":
    sys.exit(main())
