"""Forecasts of runtimes on public logs, with their bars and the forecasts of other methods.

``make bench-forecast`` runs ``comparison.py``, which includes ``shapes`` and ``what_if`` and writes
bench-forecast.json; docs/forecast-benchmark.md has the tables. May import: ``bar``,
``public_traces``, ``shapes``, ``what_if``, Plimsoll.
"""
