"""Files that survive a crash: atomic writes, locks, and the append-only array store."""
