"""Topic models: pictures as mixtures of topics, topics as distributions over codewords and tags."""
