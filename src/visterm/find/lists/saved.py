"""Searches that a person wants to keep, in ``.visterm/searches.json``."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from pathlib import Path

from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.storage import write_text_atomically

_MOST = 200


@dataclass(frozen=True)
class SavedSearches(Document):
    """Queries in the order in which they were kept."""

    queries: list[str]


class Saved:
    """Keeps searches."""

    def __init__(self, file: Path) -> None:
        self._file, self._guard = file, threading.Lock()

    def all(self) -> SavedSearches:
        """The kept searches; a damaged file counts as empty."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = []
        return SavedSearches([text for text in found if isinstance(text, str)] if isinstance(found, list) else [])

    def keep(self, query: str) -> SavedSearches:
        """Keep a search; one that is kept already stays where it is."""
        query = " ".join(query.split())
        if not query:
            raise InputError("an empty search cannot be kept")
        with self._guard:
            known = self.all().queries
            if query not in known:
                if len(known) >= _MOST:
                    raise InputError(f"{_MOST} searches are kept already: forget some first")
                self._write([*known, query])
            return self.all()

    def forget(self, query: str) -> SavedSearches:
        """Forget a search."""
        with self._guard:
            self._write([known for known in self.all().queries if known != query])
            return self.all()

    def _write(self, queries: list[str]) -> None:
        write_text_atomically(self._file, json.dumps(queries, ensure_ascii=False, indent=1))
