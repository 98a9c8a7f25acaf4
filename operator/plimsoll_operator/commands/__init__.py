"""The work of people's commands, in folders by subject.

``sizes``, ``runtimes``, ``placing``, ``splitting``, ``past_runs``, ``campaigns`` and ``modes`` hold
the commands; ``status`` is a command of its own; ``reaching`` finds the cluster and the store;
``printing`` writes to the terminal.

In: a command's arguments. Out: what it prints or writes, and its exit status.
May import: what each folder says, and ``controller.settings``; never ``cli`` or ``processes``.
"""
