"""The files of the page: nothing in them asks another computer, and none brings script or style past the rules."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

STATIC = Path(str(files("visterm.faces.web") / "static"))
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
#: The name of a form of drawings; no browser asks for it.
NAMESPACE = "http://www.w3.org/2000/svg"
#: An address of another computer: with its protocol, or with that of the page.
ABSOLUTE = re.compile(r"""(?:\b(?:https?|wss?|ftp):|(?<![:\w])//(?=[\w\[])(?!\s))""", re.IGNORECASE)
#: Script and style inside a page, and what runs text.
INLINE = {
    "a script inside": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "a style inside": re.compile(r"<style|\sstyle\s*=\s*[\"']", re.IGNORECASE),
    "an event inside": re.compile(r"<[a-z][^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "an address that is a script": re.compile(r"javascript:", re.IGNORECASE),
    "text that becomes markup": re.compile(
        r"\b(?:inner|outer)HTML\s*=|insertAdjacentHTML|document\.write|setHTMLUnsafe"
    ),
    "text that is run": re.compile(r"\beval\s*\(|new\s+Function\b|set(?:Timeout|Interval)\(\s*[\"'`]"),
    "a style as an attribute": re.compile(r"setAttribute\(\s*[\"']style|cssText"),
}


def addresses(name: str, text: str) -> list[str]:
    """The addresses of other computers in a file; comments of scripts and styles are no addresses."""
    if name.endswith((".js", ".css")):
        # a comment begins a line or follows code; "//" inside quotes is an address
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        text = re.sub(r"(?m)(^|[\s;{}),])// .*$", r"\1", text)
    return [text[found.start() : found.start() + 60] for found in ABSOLUTE.finditer(text.replace(NAMESPACE, ""))]


def inline(text: str) -> list[str]:
    return [what for what, pattern in INLINE.items() if pattern.search(text)]


def test_the_files_are_there():
    kinds = {path.suffix for path in FILES}
    assert {".html", ".js", ".css", ".svg"} == kinds
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STATIC)))
def test_no_file_asks_another_computer_or_brings_script_and_style_inside(path):
    text = path.read_text(encoding="utf-8")
    assert addresses(path.name, text) == []
    assert inline(text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.js", 'fetch("https://example.org/x")'),
        ("a.js", 'import x from "//cdn.example.org/x.js";'),
        ("a.js", 'new WebSocket("wss://example.org")'),
        ("a.js", "const a = 1; // see\nfetch(`//example.org`)"),
        ("a.css", "body { background: url(//example.org/a.png); }"),
        ("a.css", '@import "http://example.org/a.css";'),
        ("a.html", '<img src="//example.org/a.png">'),
        ("a.svg", '<svg xmlns="http://www.w3.org/2000/svg"><image href="https://example.org"/></svg>'),
    ],
)
def test_an_address_of_another_computer_is_noticed(name, text):
    assert len(addresses(name, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<style>a {}</style>",
        '<p style="color: red">',
        '<button onclick="go()">',
        '<a href="javascript:go()">',
        "a.innerHTML = name;",
        "eval (name)",
        "setTimeout('go()', 1)",
        'a.setAttribute("style", b)',
    ],
)
def test_script_and_style_inside_are_noticed(text):
    assert len(inline(text)) == 1


def test_what_is_allowed_is_not_noticed():
    assert addresses("a.js", "// a comment: as it is\nconst a = 4 / 2; // half\n/* see http: */") == []
    assert addresses("a.svg", f'<svg xmlns="{NAMESPACE}"/>') == []
    assert inline('<script type="module" src="/static/js/main.js"></script>') == []
