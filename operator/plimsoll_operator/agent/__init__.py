"""Measures the pods of one node: cgroups of version 1 and 2.

In: files of the kernel. Out: peaks of memory and CPU, sent to the controller or spooled; alarms and
the use of the node, sent or lost; where it is granted, raises through the API. May import:
``attempts``, ``credentials.token_file``, ``metrics.process``, ``names``, ``pods.spec``, ``rescue``
and the predictor's ``core``, ``rescue``.
"""
