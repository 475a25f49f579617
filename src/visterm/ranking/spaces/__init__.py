"""What the rankers share: the space of words, bags of visterms, kernels of descriptors, learning from triplets."""
