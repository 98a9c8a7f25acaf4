"""What would change a task's runtime: comparisons of its own past runs, with their uncertainty."""
