"""Late binding: pods that wait for a node are decided again when their task has learned. Pure."""
