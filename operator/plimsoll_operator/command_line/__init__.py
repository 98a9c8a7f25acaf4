"""The commands of people, in groups: their options and help. What they do is in ``commands``.

Loaded at every start, so each command imports what it needs when it is called.
"""
