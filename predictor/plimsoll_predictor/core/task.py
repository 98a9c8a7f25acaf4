"""A task is what recurs; its namespace and its name identify it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """A task's identity. Printed and stored as ``namespace/name``."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Read ``namespace/name``.

        Raises:
            ValueError: if either part is missing.
        """
        namespace, slash, name = text.partition("/")
        if not (namespace and slash and name) or "/" in name:
            raise ValueError(f"task {text!r} is not 'namespace/name'; write 'shop/train', say")
        return cls(namespace, name)


def namespace_of(task: str) -> str:
    """Return the namespace of a task that is written as ``namespace/name``.

    >>> namespace_of("shop/train")
    'shop'
    """
    return task.partition("/")[0]
