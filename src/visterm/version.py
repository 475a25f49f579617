"""The version of Visterm."""

__version__ = "0.1.0"
