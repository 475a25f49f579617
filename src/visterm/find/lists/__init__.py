"""Lists of pictures, page by page, with counts."""
