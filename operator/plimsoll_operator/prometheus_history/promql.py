"""The questions to a Prometheus about a window of time, in PromQL. Pure.

Each question is an instant query at the window's end whose range is the window. So the server does
the work and answers with one value per series. Series of several Prometheus replicas become one.
https://github.com/kubernetes/kube-state-metrics (docs/metrics/workload) has the first names,
cAdvisor's docs/storage/prometheus.md the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_NAMESPACES: Final = 50
"""The most namespaces that a question is narrowed to; if tasks run in more, it stays wider."""

POD: Final = "namespace, pod, uid"
CONTAINER: Final = f"{POD}, container"
CGROUP: Final = "namespace, pod, container, id"
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_MATCHER: Final = re.compile(r'[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\.)*"')


class BadMatcher(ValueError):
    """Not a label matcher of PromQL."""


@dataclass(frozen=True, slots=True)
class Where:
    """The series to read. matchers: further ones, for instance of one cluster among several.

    namespaces: the only ones that are read; none for all but kube-system.
    """

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
        if self.namespaces:
            parts.append(f'namespace=~"{"|".join(sorted(self.namespaces))}"')
        else:
            parts.append('namespace!="kube-system"')
        return "{" + ", ".join([*parts, *more]) + "}"

    def narrowed(self, namespaces: Sequence[str]) -> Where:
        """The same, in these namespaces only, or as it is if they are too many for a question.

        Names that no namespace can have are left out.
        """
        named = sorted({name for name in namespaces if _NAMESPACE.fullmatch(name)})
        return Where(tuple(named), self.matchers) if 0 < len(named) <= MAX_NAMESPACES else self


@dataclass(frozen=True, slots=True)
class Question:
    """The largest value of a metric in a window, for each combination of the labels ``by``.

    only: further matchers. over: the PromQL function that makes one value from a series.
    """

    metric: str
    by: str
    only: tuple[str, ...] = ()
    over: str = "max_over_time"

    def promql(self, where: Where, window_s: int) -> str:
        """The instant query at the window's end."""
        series = f"{self.metric}{where.selector(*self.only)}[{window_s}s]"
        return f"max by ({self.by}) ({self.over}({series}))"


def latest(metric: str, where: Where, window_s: int) -> str:
    """The last series of a metric in the window with all labels."""
    return f"last_over_time({metric}{where.selector()}[{window_s}s])"
