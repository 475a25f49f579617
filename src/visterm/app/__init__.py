"""The three faces of Visterm over one core: workspace, command line, page."""
