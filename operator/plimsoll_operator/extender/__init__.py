"""A scheduler's extender: scores nodes by what runs there, from memory, in time or not at all.

In: a kube-scheduler's question about one pod. Out: a score from 0 to 10 for each node; equal scores
if nothing is known, no policy asks for it, or anything goes wrong. It never removes a node.
May import: ``feed``, ``metrics.process`` and ``.quiet_log``, ``sizing``, ``pods``, ``names`` and
the predictor. It never imports the store or the API client.
"""
