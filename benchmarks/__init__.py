"""What Plimsoll does, measured: a folder for each thing that is.

On data, with no cluster:

- ``sizes``: memory of tasks on public traces; ``shifts``: where tasks change
- ``forecast``: runtimes on public logs; ``shapes``, ``what_if``: what else is told of them
- ``thesis``, ``sap``: synthetic and real data of others

In simulation, or on a real node, or both:

- ``placing``: which pods run beside each other; ``scheduling``: what that costs a scheduler
- ``campaigns``, ``split``, ``rescue``, ``live``: profiling, chunks, limits in time, what runs show
- ``readme``: the figures of README.md; ``admission``: beside kopf; ``scale``: much of everything
- ``real_node``: the node that several use

Beside the folders: ``bar.py``, what has to be reached, and ``public_traces.py``, where these are.
``make help`` lists the targets, and each folder says which are its own. A module that can be run
says how in its first lines: ``PYTHONPATH=. .venv/bin/python -P -m benchmarks.FOLDER.MODULE`` from
the checkout. May import: Plimsoll, what tests build and start clusters with (``tests``,
``deploy.local``), the demo; the folders, each other without a circle.
"""
