"""Our own code against libraries that do the same: word forms, nearest neighbours, pictures.

python benchmarks/libraries.py [--only forms neighbours pictures] [--points 20000 100000]

Needs, besides Visterm: pip install snowballstemmer inflect pynndescent faiss-cpu scikit-image. Libraries that are not
installed are skipped. The candidates take turns, and the least processor time of several rounds counts. Ratios are the
library's time divided by ours: above 1, ours is faster.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import simplemma

from visterm.language import base_form
from visterm.language.english import english_singular

N_NEIGHBOURS, N_DIMS = 10, 240
COREL_WORDS = Path(__file__).resolve().parents[2] / "shared" / "data" / "corel5k" / "labels" / "words"

#: Words and their forms: a search for one should find the other.
ENGLISH_PLURALS = """
    children:child mice:mouse leaves:leaf geese:goose feet:foot glasses:glass buses:bus teeth:tooth men:man women:woman
    oxen:ox wolves:wolf knives:knife wives:wife shelves:shelf scarves:scarf loaves:loaf calves:calf hooves:hoof
    thieves:thief cacti:cactus fungi:fungus octopuses:octopus walruses:walrus viruses:virus lenses:lens canvases:canvas
    potatoes:potato tomatoes:tomato volcanoes:volcano mosquitoes:mosquito heroes:hero buffaloes:buffalo photos:photo
    pianos:piano zoos:zoo kangaroos:kangaroo flamingos:flamingo cities:city ponies:pony berries:berry daisies:daisy
    butterflies:butterfly puppies:puppy parties:party families:family monkeys:monkey valleys:valley toys:toy
    cookies:cookie movies:movie selfies:selfie ties:tie pies:pie churches:church beaches:beach benches:bench
    branches:branch dishes:dish brushes:brush boxes:box foxes:fox dresses:dress crosses:cross horses:horse houses:house
    roses:rose bridges:bridge trees:tree shoes:shoe canoes:canoe waves:wave caves:cave gloves:glove doves:dove
    boats:boat dogs:dog flowers:flower mountains:mountain cars:car skis:ski taxis:taxi menus:menu snowmen:snowman
    firemen:fireman fishermen:fisherman grandchildren:grandchild dice:die crises:crisis oases:oasis buses:bus
    axes:axe quizzes:quiz cherries:cherry strawberries:strawberry giraffes:giraffe roofs:roof cliffs:cliff reefs:reef
    bees:bee knees:knee stairs:stair clouds:cloud lilies:lily irises:iris cactuses:cactus albatrosses:albatross
    peaches:peach matches:match watches:watch series:series species:species sheep:sheep deer:deer fish:fish
"""
ENGLISH_VERBS = """
    climbing:climb running:run swam:swim swimming:swim skiing:ski dancing:dance riding:ride rode:ride ran:run ate:eat
    eating:eat sitting:sit sat:sit walking:walk walked:walk jumps:jump jumping:jump jumped:jump flying:fly flew:fly
    smiling:smile smiled:smile cooking:cook sleeping:sleep slept:sleep drank:drink carries:carry carried:carry
    playing:play surfing:surf sailing:sail hiking:hike hiked:hike skating:skate throwing:throw threw:throw
"""
GERMAN = """
    häuser:haus bäume:baum hunde:hund katzen:katze kinder:kind männer:mann frauen:frau berge:berg blumen:blume
    vögel:vogel wälder:wald autos:auto städte:stadt brücken:brücke kirchen:kirche türme:turm schiffe:schiff boote:boot
    pferde:pferd kühe:kuh schafe:schaf wolken:wolke strände:strand seen:see flüsse:fluss straßen:straße äpfel:apfel
    bücher:buch läuft:laufen schwamm:schwimmen
"""
FRENCH = """
    chevaux:cheval chats:chat chiens:chien oiseaux:oiseau fleurs:fleur enfants:enfant hommes:homme femmes:femme
    arbres:arbre montagnes:montagne bateaux:bateau châteaux:château yeux:œil animaux:animal eaux:eau plages:plage
    rivières:rivière maisons:maison églises:église ponts:pont voitures:voiture rues:rue nuages:nuage forêts:forêt
    lacs:lac moutons:mouton vaches:vache bijoux:bijou mangeait:manger courait:courir
"""
SPANISH = """
    niños:niño flores:flor peces:pez luces:luz árboles:árbol ciudades:ciudad perros:perro gatos:gato caballos:caballo
    montañas:montaña ríos:río playas:playa barcos:barco casas:casa iglesias:iglesia puentes:puente coches:coche
    calles:calle nubes:nube bosques:bosque lagos:lago ovejas:oveja vacas:vaca pájaros:pájaro mujeres:mujer
    hombres:hombre jardines:jardín leones:león corriendo:correr comía:comer
"""
#: Words that differ in meaning: a search for one should not find the other.
APART = """
    news:new universe:university building:build painting:paint wedding:wed morning:morn evening:even ceiling:ceil
    clothing:cloth landing:land crossing:cross saw:see rose:rise ground:grind found:find left:leave leaves:leave
    organ:organization general:generate policy:police animal:animate import:important station:state arm:army
    short:shorts customs:custom iron:irony bearing:bear fencing:fence stable:stability alps:alp fall:fell jean:jeans
    pant:pants mean:means
"""
#: Words that are no plurals, though most end like plurals: they should stay unchanged.
KEPT = """
    news species series bass gas tennis chess bus glass grass cactus iris lens canvas christmas paris swiss atlas chaos
    cosmos dress cross compass princess octopus circus sheep deer scissors trousers jeans
"""


def pairs(text: str) -> list[tuple[str, str]]:
    """The pairs of a list, each once."""
    return list(dict.fromkeys((pair.split(":")[0], pair.split(":")[1]) for pair in text.split()))


def library(name: str, use: str) -> Any:
    """The module, or None and a line that says so."""
    try:
        return import_module(name)
    except ImportError:
        print(f"  {name} is not installed: {use} is skipped")
        return None


def least(works: Mapping[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The least processor seconds of each work over several rounds in which they take turns, and what each returns."""
    seconds, results = dict.fromkeys(works, np.inf), {}
    for _ in range(rounds):
        for name, work in works.items():
            began = time.process_time()
            results[name] = work()
            seconds[name] = min(seconds[name], time.process_time() - began)
    return seconds, results


# -------------------------------------------------------------------------------------------------------- word forms


def vocabulary(n: int, rng: np.random.Generator) -> dict[str, int]:
    """Words of two to four made syllables, and how often each occurs."""
    syllables = [a + b + c for a in "bcdfglmnprst" for b in "aeiou" for c in ("", "n", "r", "s")]
    words: dict[str, int] = {}
    while len(words) < n:
        parts = rng.choice(len(syllables), rng.integers(2, 5))
        words["".join(syllables[part] for part in parts)] = int(rng.integers(1, 1000))
    return words


def merged(of: Callable[[str], str], text: str) -> tuple[int, int, list[str]]:
    """The number of forms that meet their word, the number of all, and those that do not."""
    asked = pairs(text)
    missed = [form for form, word in asked if of(form) != of(word)]
    return len(asked) - len(missed), len(asked), missed


def false_merges(of: Callable[[str], str]) -> list[str]:
    """The pairs of different meaning that are merged into one word."""
    return [f"{a}={b}" for a, b in pairs(APART) if of(a) == of(b)]


def corel_plurals() -> list[tuple[str, str]]:
    """Plurals, made by the library inflect, of the nouns among Corel5K's tags: a list that nobody chose by hand."""
    inflect = library("inflect", "plurals of the tags of Corel5K")
    if inflect is None or not COREL_WORDS.is_file():
        return []
    engine = inflect.engine()
    words = {word.lower() for word in COREL_WORDS.read_text().split() if word.isalpha() and len(word) > 2}
    nouns = [word for word in sorted(words) if not engine.singular_noun(word)]
    return [(plural, noun) for noun in nouns if (plural := engine.plural_noun(noun)) != noun]


def cost(code: str) -> tuple[float, float]:
    """Processor seconds and megabytes that ``code`` adds to a Python that does nothing."""

    def run(line: str) -> tuple[float, float]:
        # The peak that Linux counts since the program began: getrusage would give the peak of the parent.
        peak = "[row.split()[1] for row in open('/proc/self/status') if row.startswith('VmHWM')][0]"
        script = f"{line}\nimport time\nprint(time.process_time(), {peak})"
        runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, check=True) for _ in range(5)]
        numbers = [[float(number) for number in done.stdout.split()] for done in runs]
        return min(seconds for seconds, _ in numbers), min(kilobytes for _, kilobytes in numbers) / 1024

    (bare, room), (seconds, megabytes) = run("pass"), run(code)
    return seconds - bare, megabytes - room


def forms(rounds: int) -> None:
    """Print what each way of folding forms merges, rightly and wrongly, and what it costs."""
    print("\nWord forms")
    snowball = library("snowballstemmer", "one of the ways to fold forms")
    corel = corel_plurals()
    lists = {"en": ENGLISH_PLURALS, "en verbs": ENGLISH_VERBS, "de": GERMAN, "fr": FRENCH, "es": SPANISH}
    names = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}
    ways: dict[str, Callable[[str], Callable[[str], str]]] = {
        "ours": lambda lang: lambda word: base_form(word, language=lang),
        "simplemma": lambda lang: lambda word: simplemma.lemmatize(word, lang=lang).lower(),
        "simplemma of all four": lambda _: lambda word: simplemma.lemmatize(word, lang=tuple(names)).lower(),
    }
    if snowball is not None:
        ways["snowball"] = lambda lang: snowball.stemmer(names[lang]).stemWord
    for way, of in ways.items():
        parts, missed = [], []
        for title, text in lists.items():
            good, n, not_met = merged(of(title[:2]), text)
            parts.append(f"{title} {good}/{n}")
            missed += not_met
        english = of("en")
        lost = [form for form, word in corel if english(form) != english(word)]
        right = sum(english(form) == word for form, word in pairs(ENGLISH_PLURALS))
        changed = [word for word in KEPT.split() if english(word) != word]
        wrong = false_merges(english)
        print(
            f"  {way}: merged {', '.join(parts)}, tags of Corel5K {len(corel) - len(lost)}/{len(corel)}; "
            f"{right} of the plurals to the dictionary's word; {len(wrong)} of {len(pairs(APART))} false merges; "
            f"{len(changed)} of {len(KEPT.split())} singulars changed"
        )
        print(f"    changed: {' '.join(changed)}")
        print(f"    missed of Corel5K: {' '.join(lost)}")
        print(f"    false: {' '.join(wrong)}")
        print(f"    missed: {' '.join(missed[:40])}")
    words = list(vocabulary(2500, np.random.default_rng(1)))
    real = [form for text in lists.values() for form, _ in pairs(text)]
    asked = (words + real * 20)[:5000]

    def afresh() -> list[str]:
        lemmatizer = simplemma.Lemmatizer()  # with an empty cache
        return [lemmatizer.lemmatize(word, lang="en") for word in asked]

    simplemma.lemmatize("boats", lang="en")
    works: dict[str, Callable[[], Any]] = {
        "ours": lambda: [english_singular(word) for word in asked],
        "simplemma": afresh,
        "simplemma, again": lambda: [simplemma.lemmatize(word, lang="en") for word in asked],
    }
    if snowball is not None:
        stemmer = snowball.stemmer("english")
        works["snowball"] = lambda: stemmer.stemWords(asked)
    took, _ = least(works, rounds)
    for way, seconds in took.items():
        print(f"  5,000 words by {way:20s} {1e3 * seconds:7.1f} ms  (ratio {seconds / took['ours']:.1f})")
    costs = {"import simplemma; simplemma.lemmatize('x', lang='en')": "simplemma, first word of en"}
    for lang in names:
        code = f"from visterm.language import base_form; base_form('x', language='{lang}')"
        costs[code] = f"ours, first word of {lang}"
    if snowball is not None:
        costs["import snowballstemmer; snowballstemmer.stemmer('english')"] = "snowball"
    for code, title in costs.items():
        seconds, megabytes = cost(code)
        print(f"  {title:32s} {seconds:6.3f} s of the processor, {megabytes:6.1f} MB")


# ------------------------------------------------------------------------------------------------ nearest neighbours


def histograms(n: int) -> np.ndarray:
    """Square roots of histograms of 300 codewords per picture, each from a mixture of a few of 50 themes."""
    rng = np.random.default_rng(0)
    themes = rng.dirichlet(np.full(N_DIMS, 0.05), 50)
    shares = rng.dirichlet(np.full(50, 0.08), n) @ themes
    counts = np.stack([rng.multinomial(300, row / row.sum()) for row in shares])
    return np.sqrt(counts / 300).astype(np.float32)


def by_faiss(faiss: Any, kind: str, X: np.ndarray) -> np.ndarray:
    """The neighbours of all rows, including each row itself."""
    if kind == "HNSW":
        index = faiss.IndexHNSWFlat(N_DIMS, 16)
        index.hnsw.efConstruction, index.hnsw.efSearch = 40, 32
    elif kind == "IVF":
        index = faiss.index_factory(N_DIMS, f"IVF{round(2 * len(X) ** 0.5)},Flat")
        index.train(X[: 64 * round(2 * len(X) ** 0.5)])
        index.nprobe = 24
    else:
        index = faiss.IndexFlatL2(N_DIMS)
    index.add(X)
    return index.search(X, N_NEIGHBOURS + 1)[1]


def by_pynndescent(pynndescent: Any, X: np.ndarray, n_neighbors: int) -> np.ndarray:
    """The neighbours of all rows, each row itself first."""
    return pynndescent.NNDescent(X, n_neighbors=n_neighbors, random_state=0).neighbor_graph[0][:, : N_NEIGHBOURS + 1]


def compiling(statement: str, cache: str) -> float:
    """Processor seconds of the first use in a new process, with compiled code kept in ``cache``."""
    before = os.times()
    code = f"import numpy as np; X = np.random.default_rng(0).random((6000, 20)).astype('float32'); {statement}"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"NUMBA_CACHE_DIR": cache})
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def neighbours(points: Sequence[int]) -> None:
    """Print processor seconds and recall."""
    from visterm.graph.nearest.approximate import nearest_of_all

    print("\nNearest neighbours of all rows")
    pynndescent, faiss = library("pynndescent", "nearest-neighbour descent"), library("faiss", "HNSW and IVF")
    uses = {"ours": "from visterm.graph.nearest.approximate import nearest_of_all; nearest_of_all(X, 10)"}
    if pynndescent is not None:
        uses["pynndescent"] = "import pynndescent; pynndescent.NNDescent(X, n_neighbors=16, random_state=0)"
    for name, statement in uses.items():
        with tempfile.TemporaryDirectory() as cache:
            first, again = compiling(statement, cache), compiling(statement, cache)
        print(
            f"  6,000 rows of 20 by {name}: first start {first:.1f} s of the processor, every later one {again:.1f} s"
        )
    nearest_of_all(histograms(6000), N_NEIGHBOURS)  # compiled before it is timed
    if pynndescent is not None:
        by_pynndescent(pynndescent, histograms(6000), N_NEIGHBOURS + 6)
    for n in points:
        X = histograms(n)
        works: dict[str, Callable[[], Any]] = {"ours": lambda X=X: nearest_of_all(X, N_NEIGHBOURS)[0]}
        if pynndescent is not None:
            for k in (N_NEIGHBOURS + 6, 2 * N_NEIGHBOURS):
                works[f"pynndescent, {k} neighbours"] = lambda X=X, k=k: by_pynndescent(pynndescent, X, k)
        if faiss is not None:
            for kind in ("HNSW", "IVF", "Flat") if n <= 20_000 else ("HNSW", "IVF"):
                works[f"faiss {kind}"] = lambda X=X, kind=kind: by_faiss(faiss, kind, X)
        took, found = least(works, 3 if n <= 20_000 else 2)
        rows = np.random.default_rng(1).choice(n, 500, replace=False)
        squared = (X[rows] ** 2).sum(axis=1)[:, None] + (X**2).sum(axis=1) - 2 * X[rows] @ X.T
        squared[np.arange(500), rows] = np.inf
        true = np.argpartition(squared, N_NEIGHBOURS, axis=1)[:, :N_NEIGHBOURS]
        for name, seconds in took.items():
            kept = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found[name][rows], true, strict=True)])
            print(
                f"  {n:7,} x {N_DIMS} by {name:26s} {seconds:7.1f} s of the processor "
                f"(ratio {seconds / took['ours']:.2f}), recall {kept / N_NEIGHBOURS:.3f}"
            )


# ---------------------------------------------------------------------------------------------------------- pictures


def explained(labels: np.ndarray, lab: np.ndarray) -> float:
    """The share of the colour variance that lies between superpixels."""
    flat, colours = np.unique(labels, return_inverse=True)[1].ravel(), lab.reshape(-1, 3).astype(np.float64)
    sizes = np.bincount(flat)
    means = np.stack([np.bincount(flat, colours[:, c]) / sizes for c in range(3)], axis=1)
    return float(((means[flat] - colours.mean(0)) ** 2).sum() / ((colours - colours.mean(0)) ** 2).sum())


def agreement(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The share of pixels whose two labels agree: each of their labels is paired with the one of ours it meets most."""
    met = np.zeros((int(theirs.max()) + 1, int(ours.max()) + 1), np.int64)
    np.add.at(met, (theirs.ravel(), ours.ravel()), 1)
    return float(met.max(axis=1).sum() / met.sum())


def pictures(rounds: int) -> None:
    """Print milliseconds per picture and how well the results agree."""
    from visterm.postcards import paint

    print("\nPictures")
    if library("skimage", "pictures") is None:
        return
    for width, height in ((256, 256), (500, 375)):
        cards = [paint(index, width=width, height=height).pixels for index in range(4)]
        rows = [of_picture(card, rounds) for card in cards]
        for what in rows[0]:
            ours, theirs = (min(row[what][side] for row in rows) for side in (0, 1))
            agree = {name: np.mean([row[what][2][name] for row in rows]) for name in rows[0][what][2]}
            print(
                f"  {width} x {height} {what:12s} ours {1e3 * ours:6.2f} ms, scikit-image {1e3 * theirs:6.2f} ms "
                f"(ratio {theirs / ours:.2f}); " + ", ".join(f"{name} {value:.4g}" for name, value in agree.items())
            )


def of_picture(rgb: np.ndarray, rounds: int) -> dict[str, tuple[float, float, dict[str, float]]]:
    """Seconds of ours and of scikit-image, and the agreement, for each operation on a picture."""
    from scipy.ndimage import gaussian_filter
    from skimage.color import rgb2lab
    from skimage.feature import local_binary_pattern
    from skimage.segmentation import slic
    from sklearn.metrics import adjusted_rand_score

    from visterm.vision import lbp_codes, superpixels, to_grey, to_lab

    warnings.filterwarnings("ignore", message="Applying `local_binary_pattern` to floating-point")
    unit = rgb.astype(np.float32) / np.float32(255)
    grey, lab = to_grey(rgb), to_lab(rgb)
    blurred = gaussian_filter(lab, (0.7, 0.7, 0))

    def theirs() -> np.ndarray:
        # scikit-image scales the values to 0 to 1, so place must count less by the same factor.
        return slic(
            blurred, 400, compactness=12 / (blurred.max() - blurred.min()), max_num_iter=6, sigma=0, convert2lab=False,
            start_label=0, min_size_factor=0.25, channel_axis=2,
        )  # fmt: skip

    def patterns() -> np.ndarray:
        return local_binary_pattern(grey, 8, 2, "nri_uniform").astype(np.int64)[2:-2, 2:-2]

    superpixels(blurred), lbp_codes(grey)  # compiled before it is timed
    result = {}
    took, made = least({"a": lambda: superpixels(blurred)[0], "b": theirs}, rounds)
    result["SLIC"] = took["a"], took["b"], {
        "superpixels": made["a"].max() + 1, "theirs": made["b"].max() + 1,
        "variance explained": explained(made["a"], lab), "by theirs": explained(made["b"], lab),
        "adjusted Rand": adjusted_rand_score(made["a"].ravel(), made["b"].ravel()),
    }  # fmt: skip
    took, made = least({"a": lambda: lbp_codes(grey), "b": patterns}, rounds)
    result["LBP"] = took["a"], took["b"], {"equal but for numbering": agreement(made["a"], made["b"])}
    took, made = least({"a": lambda: to_lab(rgb), "b": lambda: rgb2lab(unit)}, rounds)
    result["Lab"] = took["a"], took["b"], {"largest difference": float(np.abs(made["a"] - made["b"]).max())}
    return result


def main() -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("forms", "neighbours", "pictures")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--points", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if "forms" in options.only:
        forms(options.rounds)
    if "neighbours" in options.only:
        neighbours(options.points)
    if "pictures" in options.only:
        pictures(options.rounds)


if __name__ == "__main__":
    main()
