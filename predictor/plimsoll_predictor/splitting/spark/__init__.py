"""What a Spark application did, by its event log, and which settings cost time or memory. Pure.

In: lines of an event log. Out: the application in some thousand numbers at most, however long the
log is, and findings, each with what it costs and the one property to set. May import: ``core``.
"""
