"""Decides what one pod gets, and writes the patch. Pure: this is admission's answer.

In: a pod and what is known of tasks (``state``). Out: a JSON patch with its decision note.
May import: ``policy``, ``pods``, ``names`` and the predictor.
"""
