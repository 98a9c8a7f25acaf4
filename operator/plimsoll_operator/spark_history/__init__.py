"""A Spark application's event log as a stream of lines: one file, or the folder of a rolling log.

In: paths of files that strangers wrote. Out: lines of bounded length, whatever the files are.
May import: nothing of Plimsoll but the predictor's ``core``.
"""
