"""Past runs' runtimes from a log, and how well a method would have forecast them."""
