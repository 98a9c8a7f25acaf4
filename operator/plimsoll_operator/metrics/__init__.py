"""The controller's Prometheus metrics; other processes have a metrics.py of their own.

It also has what all processes share: a process's registry, and a log that requests cannot flood.

In: what happened. Out: series. May import: ``sizing`` and the predictor.
"""

from prometheus_client import disable_created_metrics

# Else every counter has a second series with its date, which nothing here reads. The call is here,
# so that the order of imports makes no difference.
disable_created_metrics()  # type: ignore[no-untyped-call]
