"""What is shown about a task's runtimes: known, forecast and imagined.

In: the store and a task, or one run of it. Out: frozen records for commands and the page.
May import: ``views``, and what ``views`` may.
"""
