"""The controller's knowledge of tasks in memory: the book, policies, bounds, news for the feed.

In: observations and watched objects. Out: what sizing reads, published to the feed.
May import: ``controller.hub``, ``feed``, pure folders.
"""
