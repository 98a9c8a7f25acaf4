"""Which of several controllers acts: one at a time, by a Lease."""
