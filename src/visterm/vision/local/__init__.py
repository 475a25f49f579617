"""Local descriptors: what patches, blocks and regions of a picture look like."""
