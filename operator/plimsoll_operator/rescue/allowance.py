"""The grants of a controller to one node's agent, and how much of them is spent.

The agent decides as the controller does (``plimsoll_predictor.rescue.deciding``). A grant is good
for one raise: the next raise needs a new grant, or the controller decides it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_operator.attempts.grants import GRANTED_S, Grant
from plimsoll_predictor.rescue.deciding import Nearing, PodPast, Raise, Room, decide
from plimsoll_predictor.rescue.growth import Outlook


@dataclass(frozen=True, slots=True)
class Spent:
    """A raise that a grant allows."""

    grant: Grant
    raised: Raise


class Allowance:
    """The grants of one answer. For use in one thread."""

    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}
        self._until_s = 0.0
        self._spent: list[tuple[str, int]] = []
        """Namespace and bytes of each raise since the answer, which does not count them."""

    @property
    def pods(self) -> frozenset[str]:
        """Return the pods whose grants are not used up, whatever their age."""
        return frozenset(self._grants)

    def renew(self, grants: Iterable[Grant], asked_s: float) -> None:
        """Replace the last answer by this one. asked_s: when it was asked for, by any one clock."""
        self._grants = {grant.pod_uid: grant for grant in grants}
        self._until_s = asked_s + GRANTED_S
        self._spent.clear()

    def spend(self, alarm: Alarm, pods_used_bytes: int, now_s: float) -> Spent | None:
        """Decide an alarm, and use up its grant; None if the controller has to be asked.

        pods_used_bytes: what all pods of the node use now.
        """
        grant = self._grants.get(alarm.pod_uid)
        if grant is None or now_s > self._until_s or grant.container_id != alarm.container_id:
            return None
        decided = decide(
            nearing(alarm, grant.limit_bytes), _past(grant), self._room(grant, pods_used_bytes)
        )
        if not isinstance(decided, Raise):
            return None
        del self._grants[alarm.pod_uid]
        self._spent.append((grant.namespace, decided.limit_bytes - grant.limit_bytes))
        return Spent(grant, decided)

    def _room(self, grant: Grant, pods_used_bytes: int) -> Room:
        spent = sum(added for _, added in self._spent)
        in_namespace = sum(added for name, added in self._spent if name == grant.namespace)
        return Room(
            most_bytes=grant.most_bytes,
            free_bytes=grant.free_bytes - spent - pods_used_bytes,
            allocatable_bytes=grant.allocatable_bytes,
            on_node_bytes=grant.added_bytes + spent,
            in_namespace_bytes=grant.in_namespace_bytes + in_namespace,
        )


def _past(grant: Grant) -> PodPast:
    return PodPast(
        needs_bytes=grant.needs_bytes, first_bytes=grant.first_bytes, raises=grant.raises
    )


def nearing(alarm: Alarm, limit_bytes: int) -> Nearing:
    """Return what the agent sees. limit_bytes: the limit that was asked for last."""
    outlook = Outlook(alarm.growth_bytes_s, alarm.step_bytes, alarm.steps)
    return Nearing(
        used_bytes=alarm.used_bytes,
        limit_bytes=limit_bytes,
        outlook=outlook,
        react_s=alarm.react_s,
        shape=alarm.shape,
    )
