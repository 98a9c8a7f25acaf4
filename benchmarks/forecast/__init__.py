"""Forecasts of runtimes on public logs, beside their bars and what others would forecast.

``make bench-forecast`` runs ``comparison.py``, which takes in ``shapes`` and ``what_if`` and writes
bench-forecast.json; docs/forecast-benchmark.md has the tables. May import: ``bar``,
``public_traces``, ``shapes``, ``what_if``, Plimsoll.
"""
