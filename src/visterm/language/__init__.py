"""Words and their forms, spelling, captions, and word vectors."""
