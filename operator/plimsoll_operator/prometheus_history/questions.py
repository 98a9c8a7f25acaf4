"""What is asked of a Prometheus about a window of time. Pure: words of PromQL.

Each question is an instant query at the window's end whose range is the window, so that the server
does the work and answers one value a series. Series of several Prometheus replicas are one.
https://github.com/kubernetes/kube-state-metrics (docs/metrics/workload) has the first names,
cAdvisor's docs/storage/prometheus.md the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_NAMESPACES: Final = 50
"""In one selector; if tasks run in more, all are asked for."""

_POD: Final = "namespace, pod, uid"
_CONTAINER: Final = f"{_POD}, container"
_CGROUP: Final = "namespace, pod, container, id"
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_MATCHER: Final = re.compile(r'[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\.)*"')


class BadMatcher(ValueError):
    """Not a label matcher of PromQL."""


@dataclass(frozen=True, slots=True)
class Where:
    """Which series are looked at. matchers: more, such as of a cluster among several."""

    namespaces: tuple[str, ...] = ()
    matchers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.namespaces:
            if not _NAMESPACE.fullmatch(name):
                raise BadMatcher(f"{name!r} is no namespace's name")
        for matcher in self.matchers:
            if not _MATCHER.fullmatch(matcher):
                raise BadMatcher(f'{matcher!r} is no matcher; write one as cluster="prod"')

    def selector(self, *more: str) -> str:
        """All matchers in braces."""
        parts = list(self.matchers)
        if 0 < len(self.namespaces) <= MAX_NAMESPACES:
            parts.append(f'namespace=~"{"|".join(sorted(self.namespaces))}"')
        else:
            parts.append('namespace!="kube-system"')
        return "{" + ", ".join([*parts, *more]) + "}"

    def narrowed(self, namespaces: Sequence[str]) -> Where:
        """The same, in these namespaces only; what no namespace is called is left out."""
        named = sorted({name for name in namespaces if _NAMESPACE.fullmatch(name)})
        return Where(tuple(named), self.matchers)


def known(where: Where, window_s: int) -> str:
    """Pods that were there: uid, node and owner."""
    by = f"{_POD}, node, created_by_kind, created_by_name"
    return f"max by ({by}) (max_over_time(kube_pod_info{where.selector()}[{window_s}s]))"


def labelled(where: Where, window_s: int) -> str:
    """Labels of pods, as kube-state-metrics is allowed to show them."""
    return f"last_over_time(kube_pod_labels{where.selector()}[{window_s}s])"


def annotated(where: Where, window_s: int) -> str:
    """Annotations of pods, likewise."""
    return f"last_over_time(kube_pod_annotations{where.selector()}[{window_s}s])"


def of_pods(where: Where, window_s: int, metric: str, *, by: str = "", only: str = "") -> str:
    """The largest value of a pod's metric. by: one more label; only: one more matcher."""
    grouped = f"{_POD}, {by}" if by else _POD
    return _largest(grouped, metric, where.selector(*([only] if only else [])), window_s)


def of_containers(where: Where, window_s: int, metric: str, *, by: str = "") -> str:
    """The largest value of a metric of kube-state-metrics about containers."""
    grouped = f"{_CONTAINER}, {by}" if by else _CONTAINER
    return _largest(grouped, metric, where.selector(), window_s)


def of_cgroups(where: Where, window_s: int, metric: str) -> str:
    """The largest value of a metric of cAdvisor's, of containers and not of pods' pauses."""
    return _largest(_CGROUP, metric, where.selector('container!=""', 'container!="POD"'), window_s)


def samples_of_cgroups(where: Where, window_s: int, metric: str) -> str:
    """How often cAdvisor's metric was read."""
    selector = where.selector('container!=""', 'container!="POD"')
    return f"max by ({_CGROUP}) (count_over_time({metric}{selector}[{window_s}s]))"


def _largest(by: str, metric: str, selector: str, window_s: int) -> str:
    return f"max by ({by}) (max_over_time({metric}{selector}[{window_s}s]))"
