"""The page the controller serves: an index of all tasks, and one task in detail. Read-only."""
