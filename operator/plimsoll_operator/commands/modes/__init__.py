"""Commands that change what Plimsoll may do: enforce, recommend, off, pause, resume.

In: a task or a namespace. Out: a changed SizingPolicy or TaskProfile.
May import: ``kube``, ``commands.status``, ``commands.printing``, ``commands.reaching``.
"""
