"""Typical distributions of runtimes, which task has which, and why.

In: runs. Out: a catalogue of shapes. Reads with numpy alone; learning needs scikit-learn.
May import: ``runtimes.runs``, ``core``.
"""
