"""The Indexed Job of a round of trainings, from a template that the chart mounts. Pure.

Kubernetes makes a pod for each index, replaces failed pods, and bounds how many run at once.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import yaml

from plimsoll_operator.names.objects import conditions_in, mapping, sequence

SHARDS_A_WORKER: Final = 4
"""Shares for each pod that may run at once: with many, a long share delays the round little."""
MOST_A_ROUND: Final = 2_000
"""The most trainings of a round. Those that are urgent by then come first in the next one."""
PREFIX_CHARS: Final = 40
"""The most characters of the template's name; a name of an Indexed Job's pod has at most 63."""
_TRIES_AN_INDEX: Final = 3
_KEPT_S: Final = 3600


class BadTemplate(ValueError):
    """No round can be made of the template."""


class RoundState(StrEnum):
    """The state of a round's Job."""

    GOING = "going"
    DONE = "done"
    FAILED = "failed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """A Job as the chart renders it. parallelism: pods that may run at once."""

    document: Mapping[str, Any]
    parallelism: int

    @classmethod
    def parse(cls, text: str) -> JobTemplate:
        """Read it from YAML.

        Raises:
            BadTemplate: its message says what is wrong.
        """
        try:
            document = mapping(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise BadTemplate(f"is no YAML: {error}") from error
        if document.get("kind") != "Job":
            raise BadTemplate(f"is of kind {document.get('kind')!r:.40}; it has to be a Job")
        spec = mapping(document.get("spec"))
        parallelism = spec.get("parallelism", 1)
        if type(parallelism) is not int or not 1 <= parallelism <= 1000:
            raise BadTemplate(f"has a parallelism of {parallelism!r:.40}; it is 1 to 1000")
        name = mapping(document.get("metadata")).get("name")
        if not isinstance(name, str) or not name:
            raise BadTemplate("has no metadata.name, which begins the names of rounds")
        containers = sequence(_pod(spec).get("containers"))
        if len(containers) != 1 or not isinstance(containers[0], dict):
            raise BadTemplate(f"has {len(containers)} containers; it has to have one, the worker")
        return cls(document, parallelism)

    def round_name(self, now_s: float) -> str:
        """Return the name of a round that begins now; later ones have others."""
        prefix = str(self.document["metadata"]["name"])[:PREFIX_CHARS].rstrip("-.")
        return f"{prefix}-{int(now_s)}"

    def shards(self, due: int) -> int:
        """Return into how many shares ``due`` trainings are cut."""
        return max(1, min(due, self.parallelism * SHARDS_A_WORKER))

    def job(self, round_: str, shards: int) -> dict[str, Any]:
        """Return the round's Job. A pod that a node loses does not count as failed."""
        job = copy.deepcopy(dict(self.document))
        job["metadata"] = {**job["metadata"], "name": round_}
        job["spec"] = {
            "backoffLimitPerIndex": _TRIES_AN_INDEX,
            "ttlSecondsAfterFinished": _KEPT_S,
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    }
                ]
            },
            **job["spec"],
            "completionMode": "Indexed",
            "completions": shards,
            "parallelism": min(self.parallelism, shards),
        }
        pod = job["spec"]["template"]["spec"]
        pod["restartPolicy"] = "Never"
        (worker,) = pod["containers"]
        worker["args"] = [*sequence(worker.get("args")), "--round", round_]
        return job


def state_of(job: Mapping[str, Any]) -> RoundState:
    """Return a Job's state. In a Job that is done, some indexes may have failed."""
    true = {each.get("type") for each in conditions_in(job) if each.get("status") == "True"}
    if "Complete" in true:
        return RoundState.DONE
    return RoundState.FAILED if "Failed" in true else RoundState.GOING


def _pod(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(spec.get("template")).get("spec"))
