"""Decides one pod's size and makes the patch: this is admission's answer. Pure.

In: a pod and the knowledge of tasks (``state``). Out: a JSON patch with its decision note.
May import: ``policy``, ``pods``, ``names`` and the predictor.
"""
