"""What is known of one task when its pod is decided: rule, ladder, experts' names. Pure.

It is what the feed carries and what the store keeps of a task.

In and out: frozen records. May import: ``model``, ``core``.
"""
