"""Labels from look-alikes."""
