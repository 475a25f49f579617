"""What the topic models share: bags, inference, the steps of EM, and their compiled loops."""
