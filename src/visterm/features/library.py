"""What recipes learned from a collection, and the features they computed: each computed once, stored by content."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.records import Skipped
from visterm.errors import VistermError
from visterm.features._keys import KeyIndex, common
from visterm.features.computing import Subject, computed
from visterm.features.learned import is_outgrown, learn, n_learned, remember
from visterm.features.store import FeatureStore, FeatureWriter, LocatedRows, in_single_precision, kept_spec
from visterm.storage import BusyError, WriteLock, make_folder
from visterm.vision.recipes import recipe as recipe_named
from visterm.vision.recipes import recipe_names
from visterm.vision.recipes.base import Recipe
from visterm.vision.recipes.combined import CombinedRecipe

#: A recipe may give this many featureless rows without a note: a collection can hold a few blank pictures.
_A_FEW = 3


@dataclass(slots=True)
class Description:
    """The outcome of computing the features of a collection.

    ``featureless`` are the files whose newly computed row of some feature is empty or constant. ``n_left_out`` pictures
    have no features yet because somebody else was computing them. ``notes`` are sentences for the user: that the recipe
    learned again, that many pictures are featureless, or that some were left out.
    """

    recipe: str
    recipe_hash: str
    n_known: int = 0
    n_computed: int = 0
    failed: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0
    featureless: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_left_out: int = 0


class FeatureLibrary:
    """What recipes learned from a collection, and the features they computed, in ``folder``.

    Pictures are given as a mapping of the sha256 of their contents to their files (None: the file is missing). Any
    number of threads and processes may use it; those that compute take turns, and nobody else waits. Stores are opened
    once. What other processes write is visible at the next call.

    A server sets ``readers_compute`` to False. Then a caller that does not ``wait`` gets what is there and computes
    nothing.

    >>> from tempfile import TemporaryDirectory
    >>> from visterm.catalogue import examine
    >>> from visterm.postcards import make_postcards
    >>> temporary = TemporaryDirectory()
    >>> _ = make_postcards(Path(temporary.name), 12)
    >>> files = sorted((Path(temporary.name) / "pictures").glob("*.jpg"))
    >>> pictures = {examine(file).sha256: file for file in files}
    >>> library = FeatureLibrary(Path(temporary.name) / "features")
    >>> hue = library.recipe("hue-100", pictures)  # learns 100 codewords
    >>> [done] = library.describe(pictures, hue)
    >>> library.features(hue, list(pictures)[:2])["hue-100"].shape  # rows in the order of the keys
    (2, 100)
    >>> temporary.cleanup()
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readers_compute = True
        self._turn = threading.RLock()
        self._guard = threading.Lock()
        self._opened: dict[tuple[str, str], _RecipeStores] = {}
        self._stores_of: dict[str, FeatureStore] = {}
        #: What to tell the user about recipes that learned again, by hash.
        self._learned_again: dict[str, str] = {}

    def recipe(self, name: str, pictures: Mapping[str, Path | None]) -> Recipe:
        """The recipe called ``name``. If it learns from the collection, it learns once; the result is stored.

        If it learned from fewer pictures than it wanted, and there are now at least four times as many, it learns
        again and gets another hash. Features of the former state stay, since models may be trained on them.
        """
        if "+" in name:
            return CombinedRecipe([self.recipe(part, pictures) for part in name.split("+")])
        recipe = recipe_named(name)
        if not recipe.n_training_pictures:
            return recipe
        file = self._learned_file(name)
        if not is_outgrown(recipe, file, pictures):
            remember(recipe, file)
            return recipe
        lock = self.folder / "features"
        for folder in (file.parent, lock):
            make_folder(folder)
        with self._turn, WriteLock(lock).held():
            if is_outgrown(recipe, file, pictures):  # no other thread or process was faster
                before = n_learned(file) if file.exists() else None
                n_pictures = learn(recipe, file, pictures)
                if before is not None:
                    note = f"{name} learned again, from {n_pictures} pictures; before, from {before}"
                    self._learned_again[recipe.hash] = note
            else:
                remember(recipe, file)
        return recipe

    def describe(self, pictures: Mapping[str, Path | None], *recipes: Recipe, wait: bool = True) -> list[Description]:
        """Compute the features that are missing, each picture decoded once for all recipes.

        Finished features are kept even after an error or a kill; one bad picture never stops the rest. If another
        thread or process is computing, this call waits and then computes only what is still missing. Without ``wait``
        it leaves those pictures out, and says so in the notes.
        """
        started = time.perf_counter()
        keys = list(pictures)
        if not (wait or self.readers_compute):
            there = [key for key, file in pictures.items() if file is not None]
            return [self._left_out(recipe, there, "nobody has looked at them yet") for recipe in recipes]
        parts = {(part.name, part.hash): part for recipe in recipes for part in recipe.stored_parts}
        if any(len(self.present(recipe, keys)) < len(keys) for recipe in recipes):
            described = self._describe(pictures, list(parts.values()), wait=wait)
        else:
            described = [Description(part.name, part.hash, n_known=len(keys)) for part in parts.values()]
        for description in described:
            description.notes += _notes(description, self._learned_again.pop(description.recipe_hash, None))
        by_part = dict(zip(parts, described, strict=True))
        seconds = time.perf_counter() - started
        return [
            _of_parts(recipe, [by_part[part.name, part.hash] for part in recipe.stored_parts], seconds)
            for recipe in recipes
        ]

    def seconds_to_describe(self, name: str, keys: Sequence[str]) -> float:
        """About how much processor time the missing features of pictures take; nothing is learned or computed."""
        missing: dict[str, tuple[set[str], float]] = {}
        for part in name.split("+"):
            recipe, file = recipe_named(part), self._learned_file(part)
            is_learned = not recipe.n_training_pictures or file.exists()
            if recipe.n_training_pictures and is_learned:
                remember(recipe, file)
            for stored in recipe.stored_parts:
                pictures, _ = missing.setdefault(stored.whole.name, (set(), stored.whole.seconds_per_picture))
                pictures |= self.missing(stored, keys) if is_learned else set(keys)
        return sum(len(pictures) * seconds for pictures, seconds in missing.values())

    def present(self, recipe: Recipe, keys: Sequence[str]) -> NDArray[np.intp]:
        """The positions of those ``keys`` that have all features of ``recipe``."""
        return np.flatnonzero(self._stores(recipe).common().find(keys) >= 0)

    def missing(self, recipe: Recipe, keys: Sequence[str]) -> set[str]:
        """Those of ``keys`` that lack a feature of ``recipe``."""
        return {keys[place] for place in np.flatnonzero(self._stores(recipe).common().find(keys) < 0).tolist()}

    def edition(self, recipe: Recipe) -> object:
        """The same object until features of ``recipe`` are written, by any process."""
        return self._stores(recipe).common()

    def features(self, recipe: Recipe, keys: Sequence[str]) -> dict[str, Any]:
        """The stored features of the pictures with these hashes, by the recipe's outputs; halves become singles."""
        return {output: in_single_precision(store.rows(keys)) for output, store in self._stores(recipe).stores.items()}

    def blocks(self, recipe: Recipe, output: str, keys: Sequence[str]) -> Iterator[tuple[slice, Any]]:
        """The rows of one output in blocks, each with its place in ``keys``; see :meth:`FeatureStore.blocks`."""
        return ((place, in_single_precision(rows)) for place, rows in self.store(recipe, output).blocks(keys))

    def located(self, recipe: Recipe, keys: Sequence[str]) -> dict[str, LocatedRows]:
        """Where the features of these pictures lie, by the recipe's outputs."""
        return {output: store.located(keys) for output, store in self._stores(recipe).stores.items()}

    def store(self, recipe: Recipe, output: str) -> FeatureStore:
        """The store of one output of ``recipe``."""
        return self._stores(recipe).stores[output]

    def stored_recipes(self) -> Iterator[Recipe]:
        """The recipes of which features are stored, as they are now."""
        folders = {folder.name for folder in (self.folder / "features").glob("*") if folder.is_dir()}
        for name in recipe_names():
            recipe = recipe_named(name)
            if recipe.n_training_pictures:
                if not self._learned_file(name).exists():
                    continue
                remember(recipe, self._learned_file(name))
            for part in recipe.stored_parts:
                if all(_folder_name(part, output) in folders for output in part.outputs):
                    yield part

    def check_learned(self) -> Iterator[tuple[Path, str]]:
        """The files of recipes that learned from the collection and cannot be used, each with the reason."""
        for file in sorted((self.folder / "recipes").glob("*.safetensors")):
            try:
                remember(recipe_named(unquote(file.stem)), file)
            except VistermError as error:
                yield file, str(error)

    def _describe(
        self, pictures: Mapping[str, Path | None], recipes: Sequence[Recipe], *, wait: bool
    ) -> list[Description]:
        keys = list(pictures)
        there = [key for key, file in pictures.items() if file is not None]
        every = [*recipes, *_given_with(recipes)]
        try:
            with self._writing(
                {i: recipe for i, recipe in enumerate(every) if self.missing(recipe, there)}, wait=wait
            ) as writers:
                # only what nobody computed in the meantime
                return self._compute(pictures, every, len(recipes), writers)[: len(recipes)]
        except BusyError:
            return [
                self._left_out(recipe, keys, f"their {recipe.name} features are being computed at this moment")
                for recipe in recipes
            ]

    @contextmanager
    def _writing(self, recipes: Mapping[int, Recipe], *, wait: bool) -> Iterator[dict[tuple[int, str], FeatureWriter]]:
        """A writer for each output of each recipe, taken in one order, so that no two processes wait for each other."""
        if not self._turn.acquire(blocking=wait):
            raise BusyError("another thread is computing features")
        try:
            with ExitStack() as stack:
                stores = {(i, output): s for i, r in recipes.items() for output, s in self._stores(r).stores.items()}
                yield {
                    place: stack.enter_context(store.writer(wait=wait))
                    for place, store in sorted(stores.items(), key=lambda item: str(item[1].folder))
                }
        finally:
            self._turn.release()

    def _left_out(self, recipe: Recipe, keys: Sequence[str], why: str) -> Description:
        """What there is of a recipe, without what somebody else has to compute."""
        n_missing = len(self.missing(recipe, keys))
        done = Description(recipe.name, recipe.hash, n_known=len(keys) - n_missing, n_left_out=n_missing)
        if n_missing:
            pictures = "1 picture is" if n_missing == 1 else f"{n_missing} pictures are"
            done.notes.append(f"{pictures} left out: {why}")
        return done

    def _compute(
        self,
        pictures: Mapping[str, Path | None],
        recipes: Sequence[Recipe],
        n_wanted: int,
        writers: Mapping[tuple[int, str], FeatureWriter],
    ) -> list[Description]:
        """Compute the first ``n_wanted`` recipes, and of the others what the same computation gives."""
        missing = [self.missing(recipe, list(pictures)) for recipe in recipes]
        for i in range(n_wanted, len(recipes)):
            whole = recipes[i].whole.name
            of_wanted = (missing[j] for j in range(n_wanted) if recipes[j].whole.name == whole)
            missing[i] = missing[i].intersection(set().union(*of_wanted))
        done = [
            Description(recipe.name, recipe.hash, n_known=len(pictures) - len(absent))
            for recipe, absent in zip(recipes, missing, strict=True)
        ]
        subjects = []
        for key, file in pictures.items():
            wanted = tuple(i for i, keys in enumerate(missing) if key in keys)
            if wanted and file is None:
                for i in wanted:
                    done[i].failed.append(Skipped(key[:12], "its file is missing"))
            elif wanted and file is not None:
                subjects.append(Subject(key, file, wanted, is_hash=True))
        for subject, results in computed(subjects, recipes):
            for i, result in zip(subject.wanted, results, strict=True):
                if isinstance(result, Skipped):
                    done[i].failed.append(result)
                    continue
                for output, row in result.items():
                    writers[i, output].add(subject.key, row)
                done[i].n_computed += 1
                if any(_is_featureless(row) for row in result.values()):
                    done[i].featureless.append(str(subject.file))
        return done

    def _learned_file(self, name: str) -> Path:
        """Where what the recipe ``name`` learned is kept."""
        return self.folder / "recipes" / f"{_file_name(name)}.safetensors"

    def _stores(self, recipe: Recipe) -> "_RecipeStores":
        """The stores of a recipe, opened at the first use; deleted ones are created again."""
        name = (recipe.name, recipe.hash)
        with self._guard:
            found = self._opened.get(name)
            if found is None or not found.exist():
                found = self._opened[name] = _RecipeStores(
                    {output: self._store(part, output) for part in recipe.stored_parts for output in part.outputs}
                )
            return found

    def _store(self, recipe: Recipe, output: str) -> FeatureStore:
        """The store of one output; recipes that share a part share it."""
        name = _folder_name(recipe, output)
        found = self._stores_of.get(name)
        if found is None or not found.exists():
            spec = recipe.outputs[output]
            folder = self.folder / "features" / name
            found = self._stores_of[name] = FeatureStore(folder, kept_spec(folder, spec), recipe=recipe.hash)
        return found


class _RecipeStores:
    """A store for each output of a recipe, and the keys that all of them have."""

    def __init__(self, stores: dict[str, FeatureStore]) -> None:
        self.stores = stores
        self._common: tuple[list[KeyIndex], KeyIndex] | None = None

    def exist(self) -> bool:
        """Whether all stores still exist."""
        return all(store.exists() for store in self.stores.values())

    def common(self) -> KeyIndex:
        """The keys that have a row in all stores; computed again only after a write to one of them."""
        indexes = [store.key_index() for store in self.stores.values()]
        known = self._common
        if known is None or any(a is not b for a, b in zip(known[0], indexes, strict=True)):
            known = self._common = (indexes, common(indexes))
        return known[1]


def _given_with(recipes: Sequence[Recipe]) -> list[Recipe]:
    """The recipes that the computation of ``recipes`` gives as well."""
    wanted = {recipe.hash for recipe in recipes}
    given = {part.hash: part for recipe in recipes for part in recipe.whole.stored_parts}
    return [part for part in given.values() if part.hash not in wanted]


def _of_parts(recipe: Recipe, parts: Sequence[Description], seconds: float) -> Description:
    """What happened to a recipe, from what happened to its parts: a picture that failed in one part failed."""
    failed = {item.where: item for part in parts for item in part.failed}
    return Description(
        recipe.name,
        recipe.hash,
        n_known=min(part.n_known for part in parts),
        n_computed=max(part.n_computed for part in parts),
        failed=list(failed.values()),
        seconds=seconds,
        featureless=sorted({file for part in parts for file in part.featureless}),
        notes=[note for part in parts for note in part.notes],
        n_left_out=max(part.n_left_out for part in parts),
    )


def _notes(description: Description, learned_again: str | None) -> list[str]:
    """What the user should know about a finished description."""
    notes = [] if learned_again is None else [learned_again]
    blank = description.featureless
    if len(blank) > _A_FEW:
        some = ", ".join(blank[:_A_FEW])
        notes.append(
            f"{description.recipe}: {len(blank)} of {description.n_computed} pictures have an empty or constant "
            f"feature, so they look alike to every method; for example {some}"
        )
    return notes


def _is_featureless(row: Any) -> bool:
    """Whether a row, dense or a sparse (1, n_dims), is empty or has the same number everywhere."""
    if hasattr(row, "tocsr"):
        return not row.count_nonzero()
    values = np.asarray(row)
    return values.size > 1 and bool((values == values.flat[0]).all())


def _folder_name(recipe: Recipe, output: str) -> str:
    return f"{_file_name(recipe.name)}.{_file_name(output)}.{recipe.hash}"


def _file_name(name: str) -> str:
    """The name of a recipe or an output as part of a file name: some systems do not allow ``timm:x``."""
    return quote(name, safe="+")
