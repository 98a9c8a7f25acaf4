"""Which pods run beside each other: in simulation, and on two real nodes.

``make bench-placing`` runs ``simulation.py`` on public co-location matrices, which writes
bench-placing.json; ``make bench-placing-nodes`` runs ``nodes.py``, which writes
bench-placing-nodes.json. docs/placing.md has both protocols; the demo plays the queue of the
second. May import: ``public_traces``, Plimsoll, ``tests``.
"""
