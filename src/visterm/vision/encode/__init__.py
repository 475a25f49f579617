"""Encodings: one vector for a picture's set of local descriptors, by codebooks, mixtures and pyramids."""
