"""Rounds of trainings by workers in pods of their own, if a Job may be made for them.

In: tasks that are due. Out: a Job, and how each training ended.
May import: ``training``, ``kube`` and what other parts of the controller may.
"""
