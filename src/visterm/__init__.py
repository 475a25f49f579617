"""Visterm learns what your own pictures mean.

Point it at a folder in which some pictures carry a class, tags or a caption; it classifies, tags and searches all of
them and shows how good it is. Start with :class:`visterm.app.workspace.Workspace`, the ``visterm`` command, or any
estimator of the method packages.
"""

__version__ = "0.1.0"
