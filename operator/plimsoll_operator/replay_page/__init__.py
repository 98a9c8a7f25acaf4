"""The page of a replay: figures, waste over time, allocation against need, frontiers."""
