"""Who bids for a task's size, what each bid would have cost, and who serves."""
