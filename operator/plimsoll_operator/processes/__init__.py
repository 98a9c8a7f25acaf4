"""The processes: each is put together in a file of its own.

Controller, admission, extender, agent, trainers, and `plimsoll run`, which starts them all.

In: settings. Out: a process that serves until a signal ends it.
May import: everything except ``cli``. Only ``cli`` imports a process.
"""
