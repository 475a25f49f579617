"""Pictures to numbers: decoding, descriptors, encodings, recipes."""
