"""``plimsoll run``: the same processes as on a cluster, started together on one machine."""
