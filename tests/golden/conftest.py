"""What wrote the golden workspace needs the version that wrote it: it is kept to be read, not to be run."""

collect_ignore = ["make_golden.py"]
