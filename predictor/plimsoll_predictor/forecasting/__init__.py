"""The forecast of a run's runtime: a small mixture of forgetting histograms, learned online."""
