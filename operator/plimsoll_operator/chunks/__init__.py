"""Leases of items over HTTP: workers of a job ask for a range and acknowledge it.

In: requests with a job's own token. Out: ranges, and the record of each job, written before an
answer leaves. The controller that leads serves it. May import: ``splitting``, the predictor's
``splitting``.
"""
