"""How good is it: measures, splits, queries, significance, experiments."""
