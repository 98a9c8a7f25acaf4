"""Shapes: the typical distributions of tasks' runtimes, what a task's own looks like, and why.

The paper's descriptive and predictive analysis (sections 4 to 6). ``catalogue``, ``summary`` and
``explanation`` need numpy only; ``fitting``, ``classifier`` and ``explaining`` need the trainer's
libraries and stay off the serving path.
"""
