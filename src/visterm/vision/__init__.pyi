from .colour import colour_picture as colour_picture
from .colour import grey_picture as grey_picture
from .colour import to_grey as to_grey
from .colour import to_hsv as to_hsv
from .colour import to_lab as to_lab
from .colour import to_opponent as to_opponent
from .colour import unit_rgb as unit_rgb
from .decode import MAX_PIXELS as MAX_PIXELS
from .decode import PIXEL_BUDGET as PIXEL_BUDGET
from .decode import SUFFIXES as SUFFIXES
from .decode import PictureInfo as PictureInfo
from .decode import decode_rgb as decode_rgb
from .decode import enlarge as enlarge
from .decode import probe as probe
from .decode import shrink as shrink
from .drawing import DRAWINGS as DRAWINGS
from .drawing import draw_codewords as draw_codewords
from .drawing import draw_gist as draw_gist
from .drawing import draw_lbp as draw_lbp
from .drawing import draw_region_map as draw_region_map
from .drawing import draw_sift as draw_sift
from .encode.codebook import Codebook as Codebook
from .encode.codebook import nearest_words as nearest_words
from .encode.codebook import seed_words as seed_words
from .encode.descriptor_pca import DescriptorPCA as DescriptorPCA
from .encode.descriptor_pca import as_descriptors as as_descriptors
from .encode.descriptor_pca import sample_descriptors as sample_descriptors
from .encode.gmm import DiagonalGMM as DiagonalGMM
from .encode.gmm import FisherEncoder as FisherEncoder
from .encode.gmm import MixtureStatistics as MixtureStatistics
from .encode.pyramid import SpatialPyramid as SpatialPyramid
from .local.colours import dense_hue as dense_hue
from .local.colours import local_colour_statistics as local_colour_statistics
from .local.grid import Grid as Grid
from .local.grid import grids as grids
from .local.lbp import lbp_blocks as lbp_blocks
from .local.lbp import lbp_codes as lbp_codes
from .local.lbp import palette_indices as palette_indices
from .local.regions import REGION_FEATURE_NAMES as REGION_FEATURE_NAMES
from .local.regions import draw_regions as draw_regions
from .local.regions import region_features as region_features
from .local.regions import segment as segment
from .local.regions import superpixels as superpixels
from .local.sift import dense_sift as dense_sift
from .local.sift import opponent_sift as opponent_sift
from .local.sift import root_sift as root_sift
from .network.checkpoint import read_checkpoint as read_checkpoint
from .network.efficientnet_lite import EfficientNetLite as EfficientNetLite
from .network.efficientnet_lite import EfficientNetLite0 as EfficientNetLite0
from .network.efficientnet_lite import EfficientNetLite2 as EfficientNetLite2
from .network.hub import ClipNetwork as ClipNetwork
from .network.hub import timm_network as timm_network
from .network.networks import Network as Network
from .network.networks import OnnxNetwork as OnnxNetwork
from .network.networks import TorchNetwork as TorchNetwork
from .network.preprocessing import Preprocessing as Preprocessing
from .recipes import recipe as recipe
from .recipes import recipe_names as recipe_names
from .recipes import register_recipe as register_recipe
from .recipes.base import Recipe as Recipe
from .recipes.combined import CombinedRecipe as CombinedRecipe
from .recipes.deep import DeepFeatures as DeepFeatures
from .recipes.deep import DeepLite2Features as DeepLite2Features
from .recipes.descriptors import DenseGrid as DenseGrid
from .recipes.descriptors import LocalDescriptors as LocalDescriptors
from .recipes.descriptors import PatternBlocks as PatternBlocks
from .recipes.descriptors import SegmentedRegions as SegmentedRegions
from .recipes.encodings import BagRecipe as BagRecipe
from .recipes.encodings import FisherRecipe as FisherRecipe
from .recipes.encodings import SharedDescriptors as SharedDescriptors
from .recipes.global_features import ColourHistogram as ColourHistogram
from .recipes.global_features import GlobalsRecipe as GlobalsRecipe
from .recipes.global_features import PlacedColours as PlacedColours
from .recipes.global_features import PlacedHistograms as PlacedHistograms
from .recipes.network import NetworkRecipe as NetworkRecipe
from .recipes.network import hub_recipe as hub_recipe
from .recipes.network_grid import NetworkGrid as NetworkGrid
from .recipes.training_pictures import TrainingPictures as TrainingPictures
from .whole.colours import ColourSpace as ColourSpace
from .whole.colours import colour_correlogram as colour_correlogram
from .whole.colours import colour_histogram as colour_histogram
from .whole.colours import grid_colour_moments as grid_colour_moments
from .whole.colours import named_colours as named_colours
from .whole.structure import edge_direction_histogram as edge_direction_histogram
from .whole.structure import gist as gist
from .whole.structure import haar_wavelet as haar_wavelet

__all__ = [
    "DRAWINGS",
    "MAX_PIXELS",
    "PIXEL_BUDGET",
    "REGION_FEATURE_NAMES",
    "SUFFIXES",
    "BagRecipe",
    "ClipNetwork",
    "Codebook",
    "ColourHistogram",
    "ColourSpace",
    "CombinedRecipe",
    "DeepFeatures",
    "DeepLite2Features",
    "DenseGrid",
    "DescriptorPCA",
    "DiagonalGMM",
    "EfficientNetLite",
    "EfficientNetLite0",
    "EfficientNetLite2",
    "FisherEncoder",
    "FisherRecipe",
    "GlobalsRecipe",
    "Grid",
    "LocalDescriptors",
    "MixtureStatistics",
    "Network",
    "NetworkGrid",
    "NetworkRecipe",
    "OnnxNetwork",
    "PatternBlocks",
    "PictureInfo",
    "PlacedColours",
    "PlacedHistograms",
    "Preprocessing",
    "Recipe",
    "SegmentedRegions",
    "SharedDescriptors",
    "SpatialPyramid",
    "TorchNetwork",
    "TrainingPictures",
    "as_descriptors",
    "colour_correlogram",
    "colour_histogram",
    "colour_picture",
    "decode_rgb",
    "dense_hue",
    "dense_sift",
    "draw_codewords",
    "draw_gist",
    "draw_lbp",
    "draw_region_map",
    "draw_regions",
    "draw_sift",
    "edge_direction_histogram",
    "enlarge",
    "gist",
    "grey_picture",
    "grid_colour_moments",
    "grids",
    "haar_wavelet",
    "hub_recipe",
    "lbp_blocks",
    "lbp_codes",
    "local_colour_statistics",
    "named_colours",
    "nearest_words",
    "opponent_sift",
    "palette_indices",
    "probe",
    "read_checkpoint",
    "recipe",
    "recipe_names",
    "region_features",
    "register_recipe",
    "root_sift",
    "sample_descriptors",
    "seed_words",
    "segment",
    "shrink",
    "superpixels",
    "timm_network",
    "to_grey",
    "to_hsv",
    "to_lab",
    "to_opponent",
    "unit_rgb",
]
