from .bags import Bag as Bag
from .bags import BagEncoder as BagEncoder
from .bags import TfIdf as TfIdf
from .bags import count_words as count_words
from .bags import stack_bags as stack_bags
from .codebook import Codebook as Codebook
from .codebook import nearest_words as nearest_words
from .codebook import seed_words as seed_words
from .colour import colour_picture as colour_picture
from .colour import grey_picture as grey_picture
from .colour import to_grey as to_grey
from .colour import to_hsv as to_hsv
from .colour import to_lab as to_lab
from .colour import to_opponent as to_opponent
from .colour import unit_rgb as unit_rgb
from .correlogram import colour_correlogram as colour_correlogram
from .correlogram import named_colours as named_colours
from .decode import MAX_PIXELS as MAX_PIXELS
from .decode import PIXEL_BUDGET as PIXEL_BUDGET
from .decode import SUFFIXES as SUFFIXES
from .decode import PictureInfo as PictureInfo
from .decode import decode_rgb as decode_rgb
from .decode import enlarge as enlarge
from .decode import probe as probe
from .decode import shrink as shrink
from .deep.checkpoint import read_checkpoint as read_checkpoint
from .deep.hub import ClipNetwork as ClipNetwork
from .deep.hub import timm_network as timm_network
from .deep.networks import Network as Network
from .deep.networks import OnnxNetwork as OnnxNetwork
from .deep.networks import TorchNetwork as TorchNetwork
from .deep.networks import WordNetwork as WordNetwork
from .deep.preprocessing import Preprocessing as Preprocessing
from .deep.presets import EfficientNetLite as EfficientNetLite
from .deep.presets import EfficientNetLite0 as EfficientNetLite0
from .deep.presets import EfficientNetLite2 as EfficientNetLite2
from .descriptor_pca import DescriptorMoments as DescriptorMoments
from .descriptor_pca import DescriptorPCA as DescriptorPCA
from .descriptor_pca import as_descriptors as as_descriptors
from .descriptor_pca import sample_descriptors as sample_descriptors
from .drawing import DRAWINGS as DRAWINGS
from .drawing import draw_codewords as draw_codewords
from .drawing import draw_gist as draw_gist
from .drawing import draw_lbp as draw_lbp
from .drawing import draw_region_map as draw_region_map
from .drawing import draw_sift as draw_sift
from .edges import edge_direction_histogram as edge_direction_histogram
from .edges import edge_pixels as edge_pixels
from .fisher import FisherEncoder as FisherEncoder
from .gist_vector import gist as gist
from .gmm import DiagonalGMM as DiagonalGMM
from .gmm import MixtureStatistics as MixtureStatistics
from .grid import Grid as Grid
from .grid import grids as grids
from .grid import rescaled as rescaled
from .grid_moments import grid_colour_moments as grid_colour_moments
from .haar import haar_wavelet as haar_wavelet
from .histograms import ColourSpace as ColourSpace
from .histograms import colour_histogram as colour_histogram
from .hue import dense_hue as dense_hue
from .lbp import lbp_blocks as lbp_blocks
from .lbp import lbp_codes as lbp_codes
from .lbp import palette_indices as palette_indices
from .lcs import local_colour_statistics as local_colour_statistics
from .pyramid import Encoder as Encoder
from .pyramid import SpatialPyramid as SpatialPyramid
from .pyramid import normalised as normalised
from .recipes import recipe as recipe
from .recipes import recipe_names as recipe_names
from .recipes import register_recipe as register_recipe
from .recipes.bags import BagRecipe as BagRecipe
from .recipes.base import Recipe as Recipe
from .recipes.colour import ColourHistogram as ColourHistogram
from .recipes.combined import CombinedRecipe as CombinedRecipe
from .recipes.deep import DeepFeatures as DeepFeatures
from .recipes.deep import DeepLite2Features as DeepLite2Features
from .recipes.deep import NetworkRecipe as NetworkRecipe
from .recipes.deep import hub_recipe as hub_recipe
from .recipes.descriptors import DenseGrid as DenseGrid
from .recipes.descriptors import LocalDescriptors as LocalDescriptors
from .recipes.descriptors import PatternBlocks as PatternBlocks
from .recipes.descriptors import SegmentedRegions as SegmentedRegions
from .recipes.fisher import FisherRecipe as FisherRecipe
from .recipes.global_features import GlobalsRecipe as GlobalsRecipe
from .recipes.global_features import PlacedColours as PlacedColours
from .recipes.global_features import PlacedHistograms as PlacedHistograms
from .recipes.network_grid import NetworkGrid as NetworkGrid
from .recipes.shared_descriptors import SharedDescriptors as SharedDescriptors
from .recipes.training_pictures import TrainingPictures as TrainingPictures
from .region_descriptors import REGION_FEATURE_NAMES as REGION_FEATURE_NAMES
from .region_descriptors import region_features as region_features
from .regions import draw_regions as draw_regions
from .regions import segment as segment
from .regions import superpixels as superpixels
from .sift import dense_sift as dense_sift
from .sift import opponent_sift as opponent_sift
from .sift import root_sift as root_sift

__all__ = [
    "DRAWINGS",
    "MAX_PIXELS",
    "PIXEL_BUDGET",
    "REGION_FEATURE_NAMES",
    "SUFFIXES",
    "Bag",
    "BagEncoder",
    "BagRecipe",
    "ClipNetwork",
    "Codebook",
    "ColourHistogram",
    "ColourSpace",
    "CombinedRecipe",
    "DeepFeatures",
    "DeepLite2Features",
    "DenseGrid",
    "DescriptorMoments",
    "DescriptorPCA",
    "DiagonalGMM",
    "EfficientNetLite",
    "EfficientNetLite0",
    "EfficientNetLite2",
    "Encoder",
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
    "TfIdf",
    "TorchNetwork",
    "TrainingPictures",
    "WordNetwork",
    "as_descriptors",
    "colour_correlogram",
    "colour_histogram",
    "colour_picture",
    "count_words",
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
    "edge_pixels",
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
    "normalised",
    "opponent_sift",
    "palette_indices",
    "probe",
    "read_checkpoint",
    "recipe",
    "recipe_names",
    "region_features",
    "register_recipe",
    "rescaled",
    "root_sift",
    "sample_descriptors",
    "seed_words",
    "segment",
    "shrink",
    "stack_bags",
    "superpixels",
    "timm_network",
    "to_grey",
    "to_hsv",
    "to_lab",
    "to_opponent",
    "unit_rgb",
]
