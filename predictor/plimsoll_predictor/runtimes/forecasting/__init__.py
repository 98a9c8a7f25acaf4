"""How long a task's next run takes, and when a plan of tasks ends.

In: runs as they are submitted and end. Out: distributions. Learns online; numpy only.
May import: ``runtimes.features``, ``runtimes.runs``, ``core``.
"""
