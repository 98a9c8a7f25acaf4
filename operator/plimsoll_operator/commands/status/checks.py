"""Whether each part of an installation works, as far as the API shows it. Pure."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

from plimsoll_operator.commands.status.cluster_state import (
    ClusterState,
    Object,
    Outside,
    label,
    part,
)
from plimsoll_operator.commands.status.tasks import is_paused
from plimsoll_operator.names.conditions import ConditionType
from plimsoll_operator.names.labels import COMPONENT, INSTANCE, NAME
from plimsoll_operator.names.namespaces import OWN_NAMESPACE
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME
from plimsoll_predictor.core.durations import words_for_duration

PROCESSES: Final = "processes"
"""The part that stands for all processes if they run outside the cluster."""
VERSION_LABEL: Final = "app.kubernetes.io/version"
SKEW_S: Final = 5.0
"""The clocks of two machines may differ by this much."""
EXPIRES_SOON_S: Final = 3 * 24 * 3600.0
STALE_FEED_S: Final = 60.0
LEASE_S: Final = 15.0


class Level(StrEnum):
    """The state of a part."""

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


Judgement = tuple[Level, str, str | None]
"""A check without its name: the part's state, why, and what to do about it."""
Read = TypeVar("Read")


def checks_of(cluster: ClusterState, now_s: float) -> list[Check]:
    """All parts, in the order that a pod meets them. now_s: Unix seconds."""

    def check(name: str, read: Read | None, judge: Callable[[Read], Judgement]) -> Check:
        if read is not None:
            return Check(name, *judge(read))
        why = next((each.why for each in cluster.unseen if each.what == name), "may not be read")
        return Check(name, Level.UNSEEN, why)

    again = made_again(cluster)
    webhook = check("webhook", cluster.webhooks, partial(_webhook, now_s, again))
    pause = check("sizing", cluster.policies, partial(_pause, cluster.installed_in))
    if cluster.deployments is not None and not cluster.deployments and not cluster.webhooks:
        return [_absent(cluster), pause]
    if cluster.outside is not None:
        return [webhook, Check(PROCESSES, *_outside(cluster.outside)), pause]
    return [
        webhook,
        check("admission", cluster.deployments, partial(_workload, "admission", again)),
        check("certificate", cluster.certificates_end_s, partial(_certificate, now_s)),
        check("feed", cluster.feed_ages_s, partial(_feed, cluster.lowering or {})),
        check("controller", cluster.deployments, partial(_workload, "controller", again)),
        # With a database there is no claim to look at.
        *(
            [check("store", cluster.claims, _store)]
            if cluster.claims is None or cluster.claims
            else []
        ),
        check("leader", cluster.lease, partial(_leader, now_s)),
        check("agent", cluster.agents, _agent),
        Check("version", *_versions([*(cluster.deployments or ()), *(cluster.agents or ())])),
        pause,
    ]


def made_again(cluster: ClusterState) -> str:
    """The command that makes again what is missing, for the release that is left of."""
    left = [*(cluster.deployments or ()), *(cluster.webhooks or ()), *(cluster.agents or ())]
    release = next(filter(None, (label(each, INSTANCE) for each in left)), OWN_NAMESPACE)
    return (
        f"helm upgrade {release} helm/plimsoll --namespace {cluster.installed_in or OWN_NAMESPACE}"
        " --reset-then-reuse-values makes it again"
    )


def _webhook(now_s: float, again: str, webhooks: Sequence[Object]) -> Judgement:
    if not webhooks:
        return (
            Level.BAD,
            "no MutatingWebhookConfiguration of Plimsoll: pods start as their authors wrote them",
            again,
        )
    hooks = part(webhooks[0], "webhooks") or []
    policies = {part(hook, "failurePolicy") for hook in hooks}
    bundles = [part(hook, "clientConfig", "caBundle") for hook in hooks]
    if not all(bundles) or not hooks:
        words = "the API server does not know admission's authority yet: pods are not sized"
        todo = (
            "the leading controller, or cert-manager, writes caBundle within seconds; see its log"
            " if it does not"
        )
        return Level.BAD, words, todo
    if policies != {"Ignore"}:
        words = "failurePolicy is not Ignore: if admission is down, labelled pods cannot be made"
        return Level.WARNING, words, "set it to Ignore, as the chart does"
    ends_s = _authority_ends_s([str(bundle) for bundle in bundles])
    if ends_s is None:
        todo = (
            "the leading controller, or cert-manager, writes caBundle anew; see its log if it does"
            " not"
        )
        return Level.BAD, "its caBundle is no certificate: pods are not sized", todo
    todo = "see the leading controller's log, or cert-manager's: the authority was not renewed"
    if ends_s <= now_s:
        words = f"admission's authority expired {words_for_duration(now_s - ends_s)} ago"
        return Level.BAD, words, todo
    words = f"registered, fails open, authority valid for {words_for_duration(ends_s - now_s)}"
    if ends_s - now_s >= EXPIRES_SOON_S:
        return Level.GOOD, words, None
    return Level.WARNING, words, todo


def _workload(name: str, again: str, deployments: Sequence[Object]) -> Judgement:
    deployment = next((each for each in deployments if label(each, COMPONENT) == name), None)
    if deployment is None:
        return Level.BAD, f"no Deployment of the {name} was found", again
    wanted = part(deployment, "spec", "replicas")
    wanted = 1 if wanted is None else wanted
    ready = part(deployment, "status", "readyReplicas") or 0
    words = f"{ready} of {wanted} replicas ready"
    if ready >= wanted > 0:
        return Level.GOOD, words, None
    namespace = part(deployment, "metadata", "namespace")
    todo = f"kubectl get pods -n {namespace} -l {NAME}={label(deployment, NAME)},{COMPONENT}={name}"
    return Level.WARNING if ready else Level.BAD, words, todo


def _store(claims: Sequence[Object]) -> Judgement:
    for claim in claims:
        name, namespace = part(claim, "metadata", "name"), part(claim, "metadata", "namespace")
        phase = part(claim, "status", "phase")
        if phase == "Bound":
            continue
        todo = f"kubectl describe pvc -n {namespace} {name}"
        waits = "the controller cannot start, and nothing is learned"
        if phase == "Pending":
            of = part(claim, "spec", "storageClassName")
            why = f"storage class {of}" if of else "no storage class, and the cluster no default"
            words = f"its claim {name} waits for a volume ({why}): {waits}"
            return Level.BAD, words, f"{todo}; docs/install.md tells how to do without a volume"
        lost = f"its claim {name} is {phase}" if phase else f"there is no claim {name}"
        return Level.BAD, f"{lost}: {waits}", todo
    return Level.GOOD, "its claim has a volume", None


def _feed(lowering: Mapping[str, float | None], ages_s: Mapping[str, float | None]) -> Judgement:
    heard = [age_s for age_s in ages_s.values() if age_s is not None and math.isfinite(age_s)]
    silent = len(ages_s) - len(heard)
    if not ages_s:
        return Level.UNSEEN, "no admission pod is ready to be asked", None
    if silent:
        words = f"{silent} of {len(ages_s)} admission pods never heard the controller"
        return Level.BAD, words, "is the controller ready? See admission's log"
    raising = sum(may == 0 for may in lowering.values())
    if raising:
        words = f"{raising} of {len(ages_s)} admission pods raise sizes and lower none"
        todo = "is the controller ready, and can it write its store? Each pod's /readyz says why"
        return Level.WARNING, words, todo
    if max(heard) > STALE_FEED_S:
        words = f"admission last heard the controller {words_for_duration(max(heard))} ago"
        todo = (
            "sizes are those of then; is the controller ready? If its Service was made anew,"
            " restart admission"
        )
        return Level.WARNING, words, todo
    words = f"all {len(ages_s)} admission pods heard the controller within {max(heard):.0f} s"
    return Level.GOOD, words, None


def _certificate(now_s: float, ends_s: Mapping[str, float | None]) -> Judgement:
    known_s = [end_s for end_s in ends_s.values() if end_s is not None]
    if not known_s:
        return Level.UNSEEN, "no admission pod says until when its own is valid", None
    left_s = min(known_s) - now_s
    todo = "see the leading controller's log, or cert-manager's: it was not renewed"
    if left_s <= 0:
        words = f"admission's expired {words_for_duration(-left_s)} ago: pods are not sized"
        return Level.BAD, words, todo
    words = f"admission's valid for {words_for_duration(left_s)}"
    return (Level.WARNING, words, todo) if left_s < EXPIRES_SOON_S else (Level.GOOD, words, None)


def _leader(now_s: float, lease: Object) -> Judgement:
    todo = "see the controllers' logs; is the store reachable?"
    holder = part(lease, "spec", "holderIdentity")
    if not holder:
        return Level.BAD, "no controller leads: nothing is learned, lifted or retried now", todo
    renewed_s = read_time(part(lease, "spec", "renewTime"))
    lasts_s = float(part(lease, "spec", "leaseDurationSeconds") or LEASE_S)
    if renewed_s is None or now_s - renewed_s > lasts_s + SKEW_S:
        ago = "never" if renewed_s is None else f"{words_for_duration(now_s - renewed_s)} ago"
        words = f"{holder} led, but last said so {ago}: nothing is learned or retried now"
        return Level.BAD, words, todo
    since_s = read_time(part(lease, "spec", "acquireTime"))
    since = "" if since_s is None else f", for {words_for_duration(now_s - since_s)}"
    return Level.GOOD, f"{holder} leads{since}", None


def _agent(agents: Sequence[Object]) -> Judgement:
    if not agents:
        words = "not installed: peaks come from elsewhere, or nobody measures them"
        return Level.WARNING, words, "set agent.enabled in the chart's values"
    wanted = part(agents[0], "status", "desiredNumberScheduled") or 0
    ready = part(agents[0], "status", "numberReady") or 0
    words = f"on {ready} of {wanted} nodes"
    namespace, name = part(agents[0], "metadata", "namespace"), label(agents[0], NAME)
    if not wanted:
        todo = (
            "agent.nodeSelector and agent.tolerations in the chart's values fit no node, or see"
            f" kubectl describe daemonset -n {namespace} -l {NAME}={name}"
        )
        return Level.WARNING, "on no node: no peak is measured", todo
    if ready >= wanted:
        return Level.GOOD, words, None
    pods = f"kubectl get pods -n {namespace} -o wide -l {NAME}={name},{COMPONENT}=agent"
    return Level.WARNING, words, f"{pods} shows which are not ready"


def _versions(workloads: Sequence[Object]) -> Judgement:
    versions = sorted({label(each, VERSION_LABEL) for each in workloads} - {""})
    if not versions:
        return Level.UNSEEN, "no workload says its version", None
    words = " and ".join(versions)
    if len(versions) > 1:
        todo = (
            "unless an upgrade is under way, helm upgrade brings all to one version; kubectl get"
            f" deployments,daemonsets -A -L {VERSION_LABEL} shows which is old"
        )
        return Level.WARNING, f"{words} side by side", todo
    return Level.GOOD, words, None


def _outside(outside: Outside) -> Judgement:
    runs = f"runs outside the cluster, as by `plimsoll run`, at {outside.address}"
    if outside.answers:
        return Level.GOOD, runs, None
    if outside.answers is None:
        return Level.UNSEEN, f"{runs}, which cannot be asked from here", None
    words = (
        f"Plimsoll does not answer at {outside.address}, tried from this machine: while it does not"
        " run, pods start as their authors wrote them, and nothing is learned, lifted or retried"
    )
    todo = (
        "look on the machine where `plimsoll run` was started, and start it there again; if it is"
        " not wanted any more, kubectl delete mutatingwebhookconfiguration plimsoll"
    )
    return Level.BAD, words, todo


def _pause(installed_in: str | None, policies: Sequence[Object]) -> Judgement:
    for each in policies:
        named = part(each, "metadata", "namespace"), part(each, "metadata", "name")
        if named != (installed_in, CLUSTER_POLICY_NAME) or not is_paused(each):
            continue
        ignored = _why_not_in_force(each)
        if ignored is not None:
            words = f"not paused: the pause in {installed_in}/{CLUSTER_POLICY_NAME} is {ignored}"
            return Level.WARNING, words, "plimsoll pause, without --installed-in"
        words = "paused on the whole cluster: pods start as their authors wrote them"
        return Level.WARNING, words, "plimsoll resume"
    return Level.GOOD, "not paused", None


def _why_not_in_force(policy: Object) -> str | None:
    """Why the controller ignores a policy, as it says itself; None if it does not say so."""
    for each in part(policy, "status", "conditions") or []:
        if part(each, "type") == ConditionType.IN_FORCE and part(each, "status") == "False":
            return str(part(each, "message") or "ignored")
    return None


def _absent(cluster: ClusterState) -> Check:
    words = "neither a Deployment nor a webhook configuration of Plimsoll is here"
    if cluster.webhooks is None:
        words = "no Deployment of Plimsoll is here; its webhook configuration may not be read"
    todo = (
        "helm install plimsoll helm/plimsoll --namespace plimsoll --create-namespace"
        " --set image.repository=REGISTRY/plimsoll; docs/install.md tells how to build the image"
    )
    return Check("installation", Level.BAD, words, todo)


def _authority_ends_s(bundles: Sequence[str]) -> float | None:
    """Unix seconds until which every webhook has an authority that is valid.

    bundles: PEM certificates in base64; in each bundle the one that is valid longest counts.
    None if a bundle holds no certificate.
    """
    from cryptography import x509

    ends = []
    for bundle in bundles:
        try:
            pem = base64.b64decode(bundle, validate=True)
            certificates = x509.load_pem_x509_certificates(pem)
        except (ValueError, binascii.Error):
            return None
        ends.append(max(each.not_valid_after_utc.timestamp() for each in certificates))
    return min(ends, default=None)
