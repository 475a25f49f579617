"""What the linear subspaces share: moments of features and tags, and projections learned from them."""
