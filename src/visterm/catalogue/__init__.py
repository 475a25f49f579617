"""Which pictures there are, where their files are, and who says what about them."""
