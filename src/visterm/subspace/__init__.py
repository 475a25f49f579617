"""Small codes: linear subspaces of picture features, learned with the help of tags."""
