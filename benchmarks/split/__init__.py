"""Jobs over items: how they are cut, by time and by memory, and Spark's partitions.

``make bench-split`` runs ``simulation.py``, which writes bench-split.json; ``make
bench-split-node`` runs ``node.py`` on the real node, which writes bench-split-node.json; ``make
bench-spark-node`` runs ``spark.py`` there, which writes bench-spark-node.json. ``picture.py`` draws
the picture of docs/splitting.md. ``orders.py``, ``first.py`` and ``listed.py`` are run by hand.
They show what could be gained by the order of items, by more pods in a task's first run, and by
chunks that become smaller. May import: ``real_node``, Plimsoll, ``tests``.
"""
