"""Keeps in the webhook configuration which namespaces want their pods recognised without a label.

A namespace asks for it by a label of its own, which the webhook selects, or by the same label on
its SizingPolicy ``default``: people who may write the policy often may not write the namespace. No
selector sees a policy, so the leader writes these names into two webhooks just for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import structlog

from plimsoll_operator.credentials.keeping_all import if_there
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.names import labels
from plimsoll_operator.names.namespaces import NAME_LABEL, NOBODYS
from plimsoll_operator.names.objects import mapping, metadata_of, sequence
from plimsoll_operator.policy.policy_levels import SIZING_POLICY_NAME

log = structlog.get_logger()

SELECTOR: Final = f"{labels.ENABLED}=true"
BY_POLICY: Final = frozenset(
    f"{name}-by-policy.plimsoll.dev" for name in ("recognise", "recognise-job")
)
MOST_NAMESPACES: Final = 2000
"""The first ones by name: a webhook configuration is kept in one object of at most 1.5 MB."""


class OptedInKeeper:
    """``look`` every few seconds, from one controller only: the leader.

    webhook: the configuration's name. excluded: namespaces that Plimsoll leaves alone.
    """

    def __init__(self, objects: OwnObjects, webhook: str, excluded: frozenset[str]) -> None:
        self._objects = objects
        self._webhook = webhook
        self._excluded = excluded

    async def look(self) -> None:
        """Write the names if they have changed. ApiError if the API server fails."""
        configuration = await if_there(self._objects.webhook(self._webhook))
        if configuration is None:
            return
        namespaces = opted_in(await self._objects.policies(SELECTOR), self._excluded)
        changes = selectors_for(configuration, namespaces)
        if changes:
            await self._objects.patch_webhook(self._webhook, {"webhooks": changes})
            log.info("namespaces recognised by their policies", count=len(namespaces))


def opted_in(policies: Iterable[Mapping[str, Any]], excluded: frozenset[str]) -> list[str]:
    """Return the namespaces of policies with the label, sorted."""
    names = {
        str(metadata_of(policy).get("namespace"))
        for policy in policies
        if metadata_of(policy).get("name") == SIZING_POLICY_NAME
    }
    return sorted(names - excluded)[:MOST_NAMESPACES]


def selectors_for(
    configuration: Mapping[str, Any], namespaces: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the webhooks whose selector names other namespaces now, as a patch by their names."""
    wanted = {"key": NAME_LABEL, "operator": "In", "values": [*namespaces] or [NOBODYS]}
    changes = []
    for webhook in map(mapping, sequence(configuration.get("webhooks"))):
        if webhook.get("name") not in BY_POLICY:
            continue
        written = sequence(mapping(webhook.get("namespaceSelector")).get("matchExpressions"))
        # Rules that exclude namespaces stay; a missing rule of ours is written again.
        others = [rule for rule in written if not _is_ours(mapping(rule))]
        rules = [*others, wanted]
        if rules != list(written):
            selector = {"matchExpressions": rules}
            changes.append({"name": webhook["name"], "namespaceSelector": selector})
    return changes


def _is_ours(rule: Mapping[str, Any]) -> bool:
    return rule.get("key") == NAME_LABEL and rule.get("operator") == "In"
