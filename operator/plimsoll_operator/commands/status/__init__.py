"""``plimsoll status``: what the Kubernetes API tells of Plimsoll, read, judged and shown."""
