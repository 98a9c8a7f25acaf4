"""The report: a task's sizes and trainings as one self-contained file.

In: records of ``views``. Out: HTML. May import: ``web.plots``, ``views``, ``wording``.
"""
