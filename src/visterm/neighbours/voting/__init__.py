"""What the neighbour methods share: who votes, how votes are counted, weighed and turned into scores."""
