"""Review: a person decides, the heads learn, the queue goes on."""
