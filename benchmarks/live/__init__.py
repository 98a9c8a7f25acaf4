"""What running attempts show and lend, on the real node: recurring tasks, bursts, cold runs.

``make bench-live`` runs ``node.py``, which writes bench-live.json. Two are run by hand, need no
node, and print: ``burst_simulation.py`` and ``lending_replay.py`` (docs/lending.md). May import:
``real_node``, ``public_traces``, Plimsoll, ``tests``.
"""
