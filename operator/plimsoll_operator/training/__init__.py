"""Training as a process of its own: when it is due, who starts it, and what it does."""
