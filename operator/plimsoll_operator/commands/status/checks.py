"""Whether each part of an installation works, from what the API shows of it. Pure."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.commands.status.cluster_state import ClusterState, Object, label, part
from plimsoll_operator.commands.status.tasks import is_paused
from plimsoll_operator.names.labels import COMPONENT, PRODUCT
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME
from plimsoll_predictor.core.durations import words_for_duration

VERSION_LABEL: Final = "app.kubernetes.io/version"
SKEW_S: Final = 5.0
"""The clocks of two machines differ by so much."""
EXPIRES_SOON_S: Final = 3 * 24 * 3600.0
STALE_FEED_S: Final = 60.0
LEASE_S: Final = 15.0


class Level(StrEnum):
    """How a part is."""

    GOOD = "good"
    WARNING = "warning"
    """It works, and needs a look."""
    BAD = "bad"
    """Pods are not sized, or not learned from."""
    UNSEEN = "unseen"
    """It could not be looked at."""


@dataclass(frozen=True, slots=True)
class Check:
    """One part of the installation. todo: what to do about it; None if nothing."""

    name: str
    level: Level
    words: str
    todo: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "name": self.name,
            "level": self.level.value,
            "words": self.words,
            "todo": self.todo,
        }


def checks_of(cluster: ClusterState, now_s: float) -> list[Check]:
    """All parts, in the order that a pod meets them. now_s: Unix seconds."""
    if cluster.deployments is not None and not cluster.deployments and not cluster.webhooks:
        return [_absent(cluster), _pause(cluster)]
    url = _address_outside(cluster)
    if url is not None:
        words = f"runs outside the cluster, as by `plimsoll run`, at {url}"
        return [
            _webhook(cluster, now_s),
            Check("processes", Level.UNSEEN, words),
            _pause(cluster),
        ]
    return [
        _webhook(cluster, now_s),
        _workload("admission", cluster),
        _certificate(cluster, now_s),
        _feed(cluster),
        _workload("controller", cluster),
        _leader(cluster, now_s),
        _agent(cluster),
        _versions(cluster),
        _pause(cluster),
    ]


def _webhook(cluster: ClusterState, now_s: float) -> Check:
    name = "webhook"
    if cluster.webhooks is None:
        return _unseen(name, cluster)
    if not cluster.webhooks:
        return Check(
            name,
            Level.BAD,
            "no MutatingWebhookConfiguration of Plimsoll: pods start as their authors wrote them",
            "helm upgrade --install plimsoll, which makes it",
        )
    hooks = part(cluster.webhooks[0], "webhooks") or []
    policies = {part(hook, "failurePolicy") for hook in hooks}
    bundles = [part(hook, "clientConfig", "caBundle") for hook in hooks]
    if not all(bundles) or not hooks:
        words = "the API server does not know admission's authority yet: pods are not sized"
        todo = "the leading controller writes caBundle within seconds; see its log if it does not"
        return Check(name, Level.BAD, words, todo)
    if policies != {"Ignore"}:
        words = "failurePolicy is not Ignore: if admission is down, labelled pods cannot be made"
        return Check(name, Level.WARNING, words, "set it to Ignore, as the chart does")
    ends_s = _authority_ends_s([str(bundle) for bundle in bundles])
    if ends_s is None:
        return Check(name, Level.BAD, "its caBundle is no certificate: pods are not sized")
    if ends_s <= now_s:
        words = f"admission's authority expired {words_for_duration(now_s - ends_s)} ago"
        return Check(name, Level.BAD, words, "see the leading controller's log: it renews it")
    level = Level.WARNING if ends_s - now_s < EXPIRES_SOON_S else Level.GOOD
    words = f"registered, fails open, authority valid for {words_for_duration(ends_s - now_s)}"
    return Check(name, level, words)


def _workload(name: str, cluster: ClusterState) -> Check:
    if cluster.deployments is None:
        return _unseen(name, cluster)
    found = _of_component(cluster.deployments, name)
    if found is None:
        words = f"no Deployment of the {name} was found"
        return Check(name, Level.BAD, words, "helm upgrade --install plimsoll")
    wanted = part(found, "spec", "replicas")
    wanted = 1 if wanted is None else wanted
    ready = part(found, "status", "readyReplicas") or 0
    words = f"{ready} of {wanted} replicas ready"
    if ready >= wanted > 0:
        return Check(name, Level.GOOD, words)
    namespace = part(found, "metadata", "namespace")
    todo = f"kubectl get pods -n {namespace} -l {PRODUCT},{COMPONENT}={name}"
    return Check(name, Level.WARNING if ready else Level.BAD, words, todo)


def _feed(cluster: ClusterState) -> Check:
    name = "feed"
    ages = cluster.feed_ages_s
    if ages is None:
        return _unseen(name, cluster)
    heard = [age for age in ages.values() if age is not None and math.isfinite(age)]
    silent = len(ages) - len(heard)
    if not ages:
        return Check(name, Level.UNSEEN, "no admission pod is ready to be asked")
    if silent:
        words = f"{silent} of {len(ages)} admission pods never heard the controller"
        return Check(name, Level.BAD, words, "is the controller ready? See admission's log")
    if max(heard) > STALE_FEED_S:
        words = f"admission last heard the controller {words_for_duration(max(heard))} ago"
        todo = "sizes are those of then; is the controller ready?"
        return Check(name, Level.WARNING, words, todo)
    words = f"all {len(ages)} admission pods heard the controller within {max(heard):.0f} s"
    return Check(name, Level.GOOD, words)


def _certificate(cluster: ClusterState, now_s: float) -> Check:
    name = "certificate"
    if cluster.certificates_end_s is None:
        return _unseen(name, cluster)
    ends = [each for each in cluster.certificates_end_s.values() if each is not None]
    if not ends:
        return Check(name, Level.UNSEEN, "no admission pod says until when its own is valid")
    left_s = min(ends) - now_s
    todo = "see the leading controller's log, or cert-manager's: who makes it did not renew it"
    if left_s <= 0:
        words = f"admission's expired {words_for_duration(-left_s)} ago: pods are not sized"
        return Check(name, Level.BAD, words, todo)
    words = f"admission's valid for {words_for_duration(left_s)}"
    if left_s < EXPIRES_SOON_S:
        return Check(name, Level.WARNING, words, todo)
    return Check(name, Level.GOOD, words)


def _leader(cluster: ClusterState, now_s: float) -> Check:
    name = "leader"
    if cluster.lease is None:
        return _unseen(name, cluster)
    holder = part(cluster.lease, "spec", "holderIdentity")
    if not holder:
        words = "no controller leads: nothing is learned, lifted or retried now"
        return Check(name, Level.BAD, words, "see the controllers' logs; is the store reachable?")
    renewed_s = unix_s(part(cluster.lease, "spec", "renewTime"))
    lasts_s = float(part(cluster.lease, "spec", "leaseDurationSeconds") or LEASE_S)
    if renewed_s is None or now_s - renewed_s > lasts_s + SKEW_S:
        ago = "never" if renewed_s is None else f"{words_for_duration(now_s - renewed_s)} ago"
        words = f"{holder} led, but last said so {ago}: nothing is learned or retried now"
        return Check(name, Level.BAD, words, "see the controllers' logs; is the store reachable?")
    since_s = unix_s(part(cluster.lease, "spec", "acquireTime"))
    since = "" if since_s is None else f", for {words_for_duration(now_s - since_s)}"
    return Check(name, Level.GOOD, f"{holder} leads{since}")


def _agent(cluster: ClusterState) -> Check:
    name = "agent"
    if cluster.agents is None:
        return _unseen(name, cluster)
    if not cluster.agents:
        words = "not installed: peaks come from elsewhere, or nobody measures them"
        return Check(name, Level.WARNING, words, "set agent.enabled in the chart's values")
    wanted = part(cluster.agents[0], "status", "desiredNumberScheduled") or 0
    ready = part(cluster.agents[0], "status", "numberReady") or 0
    words = f"on {ready} of {wanted} nodes"
    return Check(name, Level.GOOD if ready >= wanted else Level.WARNING, words)


def _versions(cluster: ClusterState) -> Check:
    found = [*(cluster.deployments or ()), *(cluster.agents or ())]
    versions = sorted({label(each, VERSION_LABEL) for each in found} - {""})
    if not versions:
        return Check("version", Level.UNSEEN, "no workload says its version")
    words = " and ".join(versions)
    if len(versions) > 1:
        return Check("version", Level.WARNING, f"{words} side by side: an upgrade is under way?")
    return Check("version", Level.GOOD, words)


def _pause(cluster: ClusterState) -> Check:
    name = "sizing"
    if cluster.policies is None:
        return _unseen(name, cluster)
    pausing = [
        each
        for each in cluster.policies
        if part(each, "metadata", "name") == CLUSTER_POLICY_NAME
        and part(each, "metadata", "namespace") == cluster.installed_in
        and is_paused(each)
    ]
    if pausing:
        words = "paused on the whole cluster: pods start as their authors wrote them"
        return Check(name, Level.WARNING, words, "plimsoll resume")
    return Check(name, Level.GOOD, "not paused")


def _absent(cluster: ClusterState) -> Check:
    words = "neither a Deployment nor a webhook configuration of Plimsoll is here"
    if cluster.webhooks is None:
        words = "no Deployment of Plimsoll is here; its webhook configuration may not be read"
    todo = "helm install plimsoll helm/plimsoll --namespace plimsoll --create-namespace"
    return Check("installation", Level.BAD, words, todo)


def _address_outside(cluster: ClusterState) -> str | None:
    """Where admission is, if it is no Service of the cluster."""
    if cluster.deployments or not cluster.webhooks:
        return None
    hooks = part(cluster.webhooks[0], "webhooks") or [None]
    url = part(hooks[0], "clientConfig", "url")
    return None if url is None else str(url)


def _of_component(deployments: Sequence[Object], name: str) -> Object | None:
    found = [each for each in deployments if label(each, COMPONENT) == name]
    return found[0] if found else None


def _unseen(name: str, cluster: ClusterState) -> Check:
    why = next((each.why for each in cluster.unseen if each.what == name), "may not be read")
    return Check(name, Level.UNSEEN, why)


def unix_s(text: object) -> float | None:
    """Kubernetes' times as Unix seconds; None for none.

    >>> unix_s("1970-01-01T00:01:00.500000Z"), unix_s(None)
    (60.5, None)
    """
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _authority_ends_s(bundles: Sequence[str]) -> float | None:
    """Unix seconds until which every webhook has an authority that is valid.

    bundles: base64 of PEM certificates each; the one that is valid longest counts in each.
    None if a bundle holds no certificate.
    """
    from cryptography import x509

    ends = []
    for bundle in bundles:
        try:
            found = x509.load_pem_x509_certificates(base64.b64decode(bundle, validate=True))
        except (ValueError, binascii.Error):
            return None
        ends.append(max(each.not_valid_after_utc.timestamp() for each in found))
    return min(ends, default=None)
