"""Features of the whole picture: its colours, edges, wavelets and layout."""
