"""Tells people about a task: TaskProfile's status, its conditions, Events. Pure.

In: facts of a task. Out: a status as the CRD has it, and manifests of Events.
May import: ``policy``, ``wording``, ``names`` and the predictor.
"""
