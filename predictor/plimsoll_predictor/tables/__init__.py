"""Reads and writes tables of past runs: CSV, gzip, Parquet.

In: a file. Out: observations, or rows with the reasons why others were left out.
May import: ``core``.
"""
