"""Restores what the author wrote in a pod of a Job whose template was sized.

Admission does so if the pod must not be sized any more: the mode has changed, or sizing is paused.
"""

from __future__ import annotations

from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.pods.spec import Pod, SizedContainer, sized_container
from plimsoll_operator.sizing.decision_note import memory_asked, read_note
from plimsoll_operator.sizing.patch import DECISION_PATH, patch_for


def patch_as_written(pod: Pod) -> list[Operation]:
    """Return the operations that undo the template's size; none for any other pod."""
    note, container = read_note(pod), sized_container(pod)
    if note is None or not note.template or not isinstance(container, SizedContainer):
        return []
    operations = patch_for(pod, container, memory_asked(container, note), None)
    return [*operations, {"op": "remove", "path": DECISION_PATH}]
