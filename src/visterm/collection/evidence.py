"""What people wrote about pictures, by word: tags given and denied, classes, captions, names of files and folders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.language import file_key, folded, lookup_forms, places_of_names, rows_by_word, unaccented, word_key

Rows = NDArray[np.intp]
#: Stands between two texts of a picture, so that no phrase reaches from one into the other; no key has a line break.
_NEXT = " \n "


class Evidence:
    """The labels of ``len(paths)`` pictures (the rows), looked up by the key of a word or phrase.

    ``tags`` and ``denied`` are (n_pictures, n_tags) 0/1 CSR matrices: the tags that people and imports gave, and those
    they said do not apply; ``denied_classes`` has the classes that pictures do not have, by row. ``copies`` has the
    other paths of pictures that are stored more than once, by row. Words in captions and file names are found in
    singular or plural, and whatever their accents. ``language`` (an ISO 639 code) is the language of captions and file
    names.

    >>> from scipy import sparse
    >>> tags = sparse.csr_array([[1, 0], [0, 1], [1, 1]])
    >>> evidence = Evidence(["a.jpg", "sea/b.jpg", "c.jpg"], tags=tags, tag_names=["boat", "Sea"],
    ...                     captions=[None, None, "Two boats"])
    >>> evidence.with_tag("sea"), evidence.in_caption("boat"), evidence.in_path("sea")
    (array([1, 2]), array([2]), array([1]))
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        tags: Any,
        tag_names: Sequence[str],
        denied: Any = None,
        classes: Sequence[str | None] = (),
        denied_classes: Mapping[int, Collection[str]] | None = None,
        captions: Sequence[str | None] = (),
        copies: Mapping[int, Sequence[str]] | None = None,
        language: str = "en",
    ) -> None:
        self._texts = Texts(paths, captions, copies or {}, language)
        self._take_labels(tags, tag_names, denied, classes, denied_classes)

    def relabelled(self, **labels: Any) -> Evidence:
        """The same pictures with other labels, named as above; the words of captions and file names are shared."""
        other = copy(self)
        other._take_labels(**labels)
        return other

    def _take_labels(
        self,
        tags: Any,
        tag_names: Sequence[str],
        denied: Any = None,
        classes: Sequence[str | None] = (),
        denied_classes: Mapping[int, Collection[str]] | None = None,
    ) -> None:
        self.tag_names = tag_names
        self._tags = _given(tags)
        self._denied = None if denied is None else _given(denied)
        self.n_tags: NDArray[np.intp] = np.bincount(self._tags.indices, minlength=len(self))
        self.has_class: NDArray[np.bool_] = np.zeros(len(self), np.bool_)
        self._columns = places_of_names(tag_names)
        of_class: defaultdict[str, list[int]] = defaultdict(list)
        self.class_names: dict[str, str] = {}
        for row, name in enumerate(classes):
            if name is not None:
                of_class[name].append(row)
        self._of_class: dict[str, Rows] = {}
        names = sorted(of_class, key=lambda name: of_class[name][0])
        for key, places in places_of_names(names).items():
            self.class_names[key] = names[places[0]]
            self._of_class[key] = np.array(sorted(row for place in places for row in of_class[names[place]]), np.intp)
            self.has_class[self._of_class[key]] = True
        self._not_of_class: dict[str, Rows] = {}
        denials = [(row, name) for row, names in (denied_classes or {}).items() for name in names]
        for key, places in places_of_names([name for _, name in denials]).items():
            self._not_of_class[key] = np.array(sorted({denials[place][0] for place in places}), np.intp)

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the pictures."""
        return self._texts.paths

    @property
    def language(self) -> str:
        """The language of captions and file names."""
        return self._texts.language

    @property
    def is_tagged(self) -> NDArray[np.bool_]:
        """Which pictures have a tag."""
        return self.n_tags > 0

    def __len__(self) -> int:
        return len(self._texts.paths)

    @property
    def tag_keys(self) -> list[str]:
        """The keys of all tags."""
        return list(self._columns)

    def n_with_tag(self, name: str) -> int:
        """How many pictures have a tag of this key."""
        return sum(int(self._tags.indptr[c + 1] - self._tags.indptr[c]) for c in self._columns.get(name, ()))

    def with_tag(self, *names: str) -> Rows:
        """The pictures that have one of the tags."""
        return self._rows(self._tags, names)

    def denied(self, *names: str) -> Rows:
        """The pictures for which someone said that one of the tags does not apply."""
        return no_rows() if self._denied is None else self._rows(self._denied, names)

    def of_class(self, *names: str) -> Rows:
        """The pictures of one of the classes."""
        return _merged([self._of_class[name] for name in names if name in self._of_class])

    def not_of_class(self, *names: str) -> Rows:
        """The pictures that someone said are not of one of the classes."""
        return _merged([self._not_of_class[name] for name in names if name in self._not_of_class])

    def of_other_class(self, *names: str) -> Rows:
        """The pictures to which someone gave another class, or denied this one."""
        others = self.has_class.copy()
        others[self.not_of_class(*names)] = True
        others[self.of_class(*names)] = False
        return np.flatnonzero(others)

    def in_caption(self, words: str) -> Rows:
        """The pictures whose caption contains the words next to each other, in this order."""
        return self._texts.in_captions.rows(words)

    def in_path(self, words: str) -> Rows:
        """The pictures with a path, inside the folder that all share, that contains the words."""
        return self._texts.in_paths.rows(words)

    def matching_path(self, pattern: str) -> Rows:
        """The pictures with a path that contains ``pattern``, or matches it if it has ``*`` or ``?``.

        Case and accents are ignored.
        """
        wanted, paths = unaccented(pattern.casefold()), self._texts.folded_paths
        if any(sign in wanted for sign in "*?"):
            whole = wanted if "/" in wanted else f"*/{wanted}"
            return self._texts.rows_of(place for place, path in enumerate(paths) if fnmatchcase(f"/{path}", whole))
        return self._texts.rows_of(place for place, path in enumerate(paths) if wanted in path)

    def named(self, name: str) -> Rows:
        """The pictures with a file of this name, with or without its extension and folders.

        Case and accents are ignored.
        """
        wanted = unaccented(name.casefold())
        places = self._texts.of_files.get(wanted.rpartition("/")[2], ())
        paths = self._texts.folded_paths
        return self._texts.rows_of(place for place in places if _is_named(paths[place], wanted))

    def counts(self) -> Counter[str]:
        """How many pictures each known word or phrase has; words in captions and file names count if all letters."""
        counts: Counter[str] = Counter()
        for name in self._columns:
            counts[name] += self.n_with_tag(name)
        for name, rows in self._of_class.items():
            counts[name] += len(rows)
        for lexicon in (self._texts.in_captions, self._texts.in_paths):
            counts.update(lexicon.counts)
        return counts

    def _rows(self, matrix: Any, names: Iterable[str]) -> Rows:
        columns = [column for name in names for column in self._columns.get(name, ())]
        return _merged([matrix.indices[matrix.indptr[c] : matrix.indptr[c + 1]] for c in columns])


class Texts:
    """The words of captions, and of file and folder names; read when first needed."""

    def __init__(
        self,
        paths: Sequence[str],
        captions: Sequence[str | None],
        copies: Mapping[int, Sequence[str]],
        language: str = "en",
    ) -> None:
        self.paths, self._captions, self.language = paths, captions, language
        # One path of each picture first, then those of copies.
        self._all_paths = [*paths, *(path for others in copies.values() for path in others)]
        self._rows = [*range(len(paths)), *(row for row, others in copies.items() for _ in others)]

    def rows_of(self, places: Iterable[int]) -> Rows:
        """The pictures of some paths, given by their places in ``folded_paths``."""
        return np.unique(np.array([self._rows[place] for place in places], np.intp))

    @cached_property
    def in_captions(self) -> Lexicon:
        """The words of captions."""
        return Lexicon(self._caption_keys(), len(self.paths), self.language)

    @cached_property
    def in_paths(self) -> Lexicon:
        """The words of paths inside the folder that all share."""
        return Lexicon(self._path_keys(), len(self.paths), self.language)

    @cached_property
    def folded_paths(self) -> list[str]:
        """Every path, case-folded and without accents."""
        return [unaccented(path.casefold()) for path in self._all_paths]

    @cached_property
    def of_files(self) -> dict[str, list[int]]:
        """The places in ``folded_paths`` of each file name, with its extension and without."""
        places: dict[str, list[int]] = {}
        for place, path in enumerate(self.folded_paths):
            name = path.rpartition("/")[2]
            for each in {name, name.rpartition(".")[0]}:
                places.setdefault(each, []).append(place)
        return places

    def _caption_keys(self) -> Iterator[tuple[int, str]]:
        return ((row, word_key(caption)) for row, caption in enumerate(self._captions) if caption)

    def _path_keys(self) -> Iterator[tuple[int, str]]:
        shared = len(_common_folder(self._all_paths))
        paths = zip(self._rows, self._all_paths, strict=True)
        return ((row, file_key(path[shared:])) for row, path in paths)


class Lexicon:
    """The words of texts, and the pictures that have them, whatever their forms and accents.

    ``keys`` are pairs of a picture's row and the key of one of its texts.
    """

    def __init__(self, keys: Iterable[tuple[int, str]], n_rows: int, language: str) -> None:
        self._language = language
        self._texts = [""] * n_rows
        self._spelled: dict[int, str] = {}  # where people wrote accents
        for row, key in keys:
            forms = lookup_forms(key, language)
            if row in self._spelled or not key.isascii():
                self._spelled[row] = _joined(self._spelled.get(row, self._texts[row]), folded(key, language))
            self._texts[row] = _joined(self._texts[row], *forms)
        self._rows_of = rows_by_word(self._texts)

    @cached_property
    def counts(self) -> Counter[str]:
        """How many pictures have each word, with its accents; only words of letters."""
        counts = Counter({word: len(rows) for word, rows in self._rows_of.items()})
        counts -= _frequencies(self._texts[row] for row in self._spelled)
        counts += _frequencies(self._spelled.values())
        return Counter({word: count for word, count in counts.items() if word.isalpha()})

    def rows(self, words: str) -> Rows:
        """The pictures that have the words next to each other, in this order, in one of their texts."""
        return _merged([self._with(form) for form in lookup_forms(words, self._language)])

    def _with(self, form: str) -> Rows:
        lists = sorted((self._rows_of.get(word, []) for word in form.split()), key=len)
        if not lists:
            return no_rows()
        rows: Iterable[int] = lists[0]
        # mutants: > -> >=: a single word is in every text that its list names
        if len(lists) > 1:
            rows = [row for row in rows if f" {form} " in f" {self._texts[row]} "]
        return np.fromiter(rows, np.intp)


def _given(labels: Any) -> Any:
    """The labels by column, without explicit zeros."""
    by_tag = labels.tocsc(copy=True)
    by_tag.eliminate_zeros()
    return by_tag


def _joined(*texts: str) -> str:
    return _NEXT.join(filter(None, texts))


def _frequencies(texts: Iterable[str]) -> Counter[str]:
    """In how many texts each word is."""
    return Counter(chain.from_iterable(set(text.split()) for text in texts))


def _merged(lists: Sequence[NDArray[Any]]) -> Rows:
    """The rows of all lists, each once, in order."""
    if len(lists) == 1:
        return np.sort(lists[0]).astype(np.intp)
    return np.unique(np.concatenate([no_rows(), *lists])).astype(np.intp)


def _is_named(path: str, name: str) -> bool:
    if path.endswith(name):
        return path == name or path[-len(name) - 1] == "/"
    return path.rpartition("/")[2].rpartition(".")[0] == name


def _common_folder(paths: Sequence[str]) -> str:
    """The folder that all paths begin with, with its final slash; "" if there is none."""
    if not paths:
        return ""
    first, last = min(paths), max(paths)  # a prefix that these two share, all share
    n_shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    folder, slash, _ = first[:n_shared].rpartition("/")
    return folder + slash


def no_rows() -> Rows:
    """No rows."""
    return np.empty(0, np.intp)
