"""How the margin methods are solved: one dual ascent for every objective, one ridge regression for closed forms."""
