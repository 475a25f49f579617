"""Spreading work over shards, progress, devices: what every layer above computes with."""
