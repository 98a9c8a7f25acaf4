"""The data that is shown, read from the store at a bounded cost.

``report`` has what is shown about all tasks together, ``runtimes`` what is shown about times.

In: the store and a task. Out: frozen records that pages, files and tables draw from.
May import: ``campaigns``, ``profile``, ``sizing``, ``pods``, ``splitting``, ``wording`` and the
predictor.
"""
