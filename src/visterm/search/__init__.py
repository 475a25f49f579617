"""From the words a person types to ranked pictures."""
