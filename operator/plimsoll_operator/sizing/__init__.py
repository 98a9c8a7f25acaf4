"""Decides one pod's size, or a new Job's template, and makes the patch: admission's answer. Pure.

In: a pod and the knowledge of tasks (``state``). Out: a JSON patch with its decision note.
May import: ``policy``, ``pods``, ``names`` and the predictor.
"""
