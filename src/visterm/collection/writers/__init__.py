"""Writers of labels: XMP sidecars, tables, COCO-style JSON."""
