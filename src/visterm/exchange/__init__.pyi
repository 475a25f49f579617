from . import readers as readers
from . import writers as writers
from .embedded import Embedded as Embedded
from .embedded import read_embedded as read_embedded
from .exif import ExifTexts as ExifTexts
from .iptc import IptcTexts as IptcTexts
from .iptc import read_iptc as read_iptc
from .readers import READERS as READERS
from .readers import Reader as Reader
from .readers import check_format as check_format
from .readers import find_labels as find_labels
from .readers import find_tables as find_tables
from .readers import open_labels as open_labels
from .readers import open_pictures as open_pictures
from .readers.hvecs import read_hvecs as read_hvecs
from .readers.ldac import read_bags as read_bags
from .readers.ldac import read_labels as read_labels
from .writers import FORMATS as FORMATS
from .writers import Exported as Exported
from .writers import SidecarExample as SidecarExample
from .writers import export as export
from .writers.coco import write_coco as write_coco
from .writers.table import write_table as write_table
from .writers.xmp import merged_sidecar as merged_sidecar
from .writers.xmp import sidecar_of as sidecar_of
from .xmp_merge import merge_packet as merge_packet
from .xmp_packet import PacketLabels as PacketLabels
from .xmp_packet import read_packet as read_packet

__all__ = [
    "FORMATS",
    "READERS",
    "Embedded",
    "ExifTexts",
    "Exported",
    "IptcTexts",
    "PacketLabels",
    "Reader",
    "SidecarExample",
    "check_format",
    "export",
    "find_labels",
    "find_tables",
    "merge_packet",
    "merged_sidecar",
    "open_labels",
    "open_pictures",
    "read_bags",
    "read_embedded",
    "read_hvecs",
    "read_iptc",
    "read_labels",
    "read_packet",
    "readers",
    "sidecar_of",
    "write_coco",
    "write_table",
    "writers",
]
