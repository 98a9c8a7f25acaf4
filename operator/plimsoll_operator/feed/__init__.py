"""Carries the knowledge of tasks from the controller to admission and the extender.

In: what changed about a task. Out: messages, and the state that they add up to (``sizing.state``).
May import: ``sizing``, ``names``, ``credentials.token_file`` and the predictor.
"""
