"""The recipes that learn from the collection, set up as the papers use them."""

from visterm.vision.network.efficientnet_lite import EfficientNetLite0, EfficientNetLite2
from visterm.vision.recipes.combined import CombinedRecipe, CompressedRecipe
from visterm.vision.recipes.descriptors import DenseGrid, PatternBlocks, SegmentedRegions
from visterm.vision.recipes.encodings import BagRecipe, FisherRecipe, SharedDescriptors
from visterm.vision.recipes.global_features import PlacedColours, PlacedHistograms
from visterm.vision.recipes.network_grid import NetworkGrid

#: The grid of Lapin et al. (CVPR 2014), 24 x 24 patches, step 4, scales 2^(-2:.5:0), for a picture that is not shrunk:
#: steps and cells grow by the square root of 2, rounded to even numbers, so that patches share cells.
_STEPS, _BIN_SIZES = (4, 6, 8, 12, 16), (6, 8, 12, 16, 24)
#: Descriptors that each feature of ``tagging`` learns from.
_SAMPLE = 120_000
#: Pictures are shrunk to this many pixels before ``tagging-fast`` looks at them.
_FAST_PIXELS = 40_000


def bow_240() -> BagRecipe:
    """Wang, Blei & Fei-Fei 2009: SIFT every five pixels, 240 codewords."""
    grid = DenseGrid(("sift",), steps=(5,), bin_sizes=(4,))
    return BagRecipe("bow-240", "240 codewords of SIFT every five pixels", grid, 240, seconds_per_picture=0.01)


def bow_1000() -> BagRecipe:
    """Nakayama et al. 2010: dense SIFT at several scales, 1,000 codewords."""
    grid = DenseGrid(("sift",))
    return BagRecipe("bow-1000", "1,000 codewords of dense SIFT at five scales", grid, 1000, seconds_per_picture=0.05)


def hue_100() -> BagRecipe:
    """Nakayama et al. 2010: dense hue histograms, 100 codewords."""
    grid = DenseGrid(("hue",), steps=(6, 6), bin_sizes=(4, 8))
    return BagRecipe("hue-100", "100 codewords of dense hue histograms", grid, 100, seconds_per_picture=0.02)


def visterms_10k() -> BagRecipe:
    """Grangier & Bengio 2008: blocks of texture and colour, 10,000 visterms."""
    return BagRecipe(
        "visterms-10k",
        "10,000 visterms: blocks of local binary patterns and colours",
        PatternBlocks(),
        10_000,
        n_training_pictures=5000,
        seconds_per_picture=0.01,
    )


def regions_500() -> BagRecipe:
    """Shao et al. 2014, after Barnard et al. 2003: about ten regions per picture, 500 codewords."""
    return BagRecipe(
        "regions-500",
        "500 codewords of the regions of a segmentation",
        SegmentedRegions(),
        500,
        n_training_pictures=5000,
        seconds_per_picture=0.05,
    )


def bow_deep() -> BagRecipe:
    """The 49 places of the last feature map of EfficientNet-Lite0, 1,000 codewords, five for each place."""
    network = EfficientNetLite0()
    return BagRecipe(
        "bow-deep",
        "1,000 codewords of the 7 x 7 places of EfficientNet-Lite0",
        NetworkGrid(network, n_axes=128),
        1000,
        n_nearest=5,
        max_sample=50_000,
        pixel_budget=(2 * network.preprocessing.size) ** 2,
        seconds_per_picture=0.015,
    )


def fisher() -> FisherRecipe:
    """Lapin, Schiele & Hein 2014 at full size: 262,144 numbers per picture."""
    return _fisher("fisher", n_axes=128, n_components=256, seconds=0.25)


def fisher_32k() -> FisherRecipe:
    """An eighth of the full size, most of its accuracy."""
    return _fisher("fisher-32k", n_axes=64, n_components=64, seconds=0.08)


def tagging() -> CombinedRecipe:
    """Thirteen features for methods that combine many, after Guillaumin et al. 2009: texture, colour and place."""
    parts = [
        PlacedHistograms(),
        _encoded("sift", "root-sift", (3, 4, 6, 8), n_words=1000, n_axes=64),
        _encoded("opponent", "opponent-sift", (4, 7), n_words=1000, n_axes=64),
        _encoded("lab", "lab-statistics", (4, 7), n_words=1000, n_axes=48),
        _encoded("hue", "hue", (3,), n_words=300),
    ]
    summary = "thirteen features of texture, colour and place, for methods that combine many"
    return CombinedRecipe(parts, name="tagging", summary=summary)


def tagging_fast() -> CompressedRecipe:
    """What ``tagging`` adds to a network at an eighth of its cost: colours in their places, and some texture.

    A network sees objects; it hardly sees colours. Pictures are decoded as for the larger network, so that one decoding
    serves both, and then shrunk to 40,000 pixels. The features are compressed to 256 numbers each: pictures are
    compared five times as fast, and models are twenty times smaller.
    """

    def vectors(name: str, kind: str, bin_sizes: tuple[int, ...], n_axes: int, seconds: float) -> FisherRecipe:
        return FisherRecipe(
            name,
            f"Fisher vectors of {kind}, whole and in three stripes",
            DenseGrid((kind,), steps=(6,) * len(bin_sizes), bin_sizes=bin_sizes),
            n_axes=n_axes,
            n_components=32,
            max_sample=60_000,
            pixel_budget=_FAST_PIXELS,
            seconds_per_picture=seconds,
        )

    parts = [
        PlacedColours(pixel_budget=_FAST_PIXELS),
        vectors("sift-fisher", "root-sift", (4, 6, 8), 48, 0.008),
        vectors("lab-fisher", "lab-statistics", (4, 7), 32, 0.009),
    ]
    summary = (
        "five features of colour, place and texture: most of what tagging adds to a network, at an eighth of its cost"
    )
    budget = (2 * EfficientNetLite2.preprocessing.size) ** 2
    return CompressedRecipe(CombinedRecipe(parts, name="tagging-fast", summary=summary, pixel_budget=budget))


def _encoded(
    name: str, kind: str, bin_sizes: tuple[int, ...], *, n_words: int, n_axes: int | None = None
) -> SharedDescriptors:
    """Codewords in three stripes and, with ``n_axes``, Fisher vectors of one kind of descriptor."""
    grid = DenseGrid((kind,), steps=(4,) * len(bin_sizes), bin_sizes=bin_sizes)
    summary = f"{n_words} codewords of {kind} in three stripes"
    words = BagRecipe(f"{name}-words", summary, grid, n_words, cells="3x1", max_sample=_SAMPLE)
    if n_axes is None:
        return SharedDescriptors(name, grid, [words])
    summary = f"Fisher vectors of {kind}, whole and in three stripes"
    vectors = FisherRecipe(f"{name}-fisher", summary, grid, n_axes=n_axes, n_components=64, max_sample=_SAMPLE)
    return SharedDescriptors(name, grid, [words, vectors])


def _fisher(name: str, *, n_axes: int, n_components: int, seconds: float) -> FisherRecipe:
    return FisherRecipe(
        name,
        f"Fisher vectors of SIFT and colour statistics: {n_axes} axes, {n_components} Gaussians, four cells",
        DenseGrid(("sift", "lcs"), _STEPS, _BIN_SIZES),
        n_axes=n_axes,
        n_components=n_components,
        seconds_per_picture=seconds,
    )
