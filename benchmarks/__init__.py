"""Measures what Plimsoll does: a folder for each subject.

On data, with no cluster:

- ``sizes``: memory of tasks on public traces; ``shifts``: where tasks change
- ``forecast``: runtimes on public logs; ``shapes``, ``what_if``: what else is said of runtimes
- ``thesis``, ``sap``: synthetic data, and real data of others

In simulation, or on a real node, or both:

- ``placing``: which pods run beside each other; ``scheduling``: its cost for a scheduler
- ``campaigns``, ``split``, ``rescue``, ``live``: profiling, chunks, raised limits, running attempts
- ``readme``: the figures of README.md; ``admission``: against kopf; ``scale``: large numbers
- ``real_node``: the node that several folders use

Also here: ``bar.py``, the value to reach, and ``public_traces.py``, where the traces are.
``make help`` lists the targets, and each folder says which are its own. A module that can be run
says how in its first lines: ``PYTHONPATH=. .venv/bin/python -P -m benchmarks.FOLDER.MODULE`` from
the checkout. May import: Plimsoll, what tests use to build and start clusters (``tests``,
``deploy.local``), the demo; folders may import each other without a circle.
"""
