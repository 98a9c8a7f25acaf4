"""kopf's handlers, and nothing else: each hands what it saw to the controller."""
