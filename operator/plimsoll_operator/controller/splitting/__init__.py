"""Tells admission what chunks of Jobs over items took, and which executors of Spark died.

In: attempts that ended, and the store. Out: what is known of each task's chunks, and how much
smaller an application's partitions become, in the feed.
May import: ``controller.hub``, ``controller.announcing``, ``feed``, ``profile``, ``splitting``,
``pods``, ``names``, the predictor.
"""
