"""From what a person types to what is asked for."""
