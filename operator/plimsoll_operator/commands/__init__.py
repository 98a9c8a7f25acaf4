"""The work of people's commands, in folders by subject.

``sizes``, ``runtimes``, ``past_runs`` and ``modes`` hold the commands; ``status`` is a command of
its own; ``reaching`` finds the cluster and the store; ``printing`` writes to the terminal.
"""
