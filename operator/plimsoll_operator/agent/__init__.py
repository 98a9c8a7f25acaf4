"""Measures the pods of one node: cgroups of version 1 and 2.

In: files of the kernel. Out: peaks of memory and CPU, sent to the controller or spooled.
May import: ``attempts.peaks``, ``credentials.token_file``, ``metrics.process``, ``names`` and
the predictor's ``core``.
"""
