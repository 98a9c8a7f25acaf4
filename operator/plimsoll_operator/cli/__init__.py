"""The command line: one file per command, named like the command.

Commands of past runs are in ``past_runs``, those of runtimes in ``runtimes``. A file holds the
command's options and its help, and imports the code that does the work only when the command runs,
so that `plimsoll --help` stays quick.

In: words of a terminal. Out: a request for one function of ``commands`` or ``processes``.
May import: ``commands``, ``processes``; heavy modules only inside a function.
"""
