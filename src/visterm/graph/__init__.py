"""Graphs of look-alike pictures: models made smooth over them, and tags that travel along them."""
