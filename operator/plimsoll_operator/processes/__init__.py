"""What runs: one file puts together each process.

Controller, admission, extender, agent, trainers, and `plimsoll run`, which starts them all.

In: settings. Out: a process that serves until it is told to end.
May import: everything but ``cli``. Nothing imports a process but ``cli``.
"""
