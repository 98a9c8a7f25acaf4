"""The controller's Prometheus metrics; other processes have a metrics.py of their own.

And what all share: a process's registry, and a log that requests cannot flood.

In: what happened. Out: series. May import: ``sizing`` and the predictor.
"""

from prometheus_client import disable_created_metrics

# A second series beside every counter, for a date that nothing here reads. It is said here, so that
# no order of imports makes a difference.
disable_created_metrics()  # type: ignore[no-untyped-call]
