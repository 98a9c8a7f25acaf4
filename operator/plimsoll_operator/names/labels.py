"""The labels and annotations that people and Plimsoll write; docs/annotations.md lists them."""

from __future__ import annotations

from typing import Final

MAX_LABEL_CHARS: Final = 63
"""The longest DNS label (RFC 1123), and so the longest name after the slash of a key."""

MAX_NAME_CHARS: Final = 253
"""The longest name of an object."""

MAX_ALL_ANNOTATIONS_BYTES: Final = 262_144
"""Names and values of one object's annotations; the API server refuses an object with more."""

TASK: Final = "plimsoll.dev/task"
"""Label: the task's name; ``auto`` takes the name from the engine's own labels."""
AUTO: Final = "auto"
"""Value of that label: the task's name is read from what the engine wrote."""
ENABLED: Final = "plimsoll.dev/enabled"
"""Label of a namespace, or of its SizingPolicy ``default``: ``true`` has its pods recognised
without a label. Of a pod in it: ``false`` leaves the pod alone."""
MODE: Final = "plimsoll.dev/mode"
"""Label or annotation: off | recommend | enforce."""
CPU_MODE: Final = "plimsoll.dev/cpu-mode"
"""Label or annotation: off | recommend | enforce, for CPU requests."""
CRITICAL: Final = "plimsoll.dev/critical"
"""Label or annotation: true | false; a critical task never seen gets its whole request."""
RUN: Final = "plimsoll.dev/run"
"""Label or annotation: the run of a workflow to which the pod belongs."""
ITEM: Final = "plimsoll.dev/item"
"""Label or annotation: the item of the pod: a sample, a partition, a date."""
CONTAINER: Final = "plimsoll.dev/container"
"""Annotation: the container that is sized."""
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
RETRY: Final = "plimsoll.dev/retry"
"""Annotation: auto | never."""
ATTEMPTS: Final = "plimsoll.dev/attempts"
"""Label or annotation: how many attempts the pod's maker makes of a run, in all."""
FEATURE_PREFIX: Final = "features.plimsoll.dev/"
"""Annotations ``features.plimsoll.dev/<name>``: features known before the run."""

DECISION: Final = "plimsoll.dev/decision"
"""Annotation written by Plimsoll: the decision and its reason, as JSON."""
LENT: Final = "plimsoll.dev/lent"
"""Annotation written by Plimsoll on a running pod that lends: its request before, as JSON."""
RESCUED: Final = "plimsoll.dev/rescued"
"""Annotation written by Plimsoll on a running pod that it gave more: what it had, as JSON."""
HINT: Final = "plimsoll.dev/hint"
"""Annotation written by Plimsoll on a new pod: the nodes that it prefers for it, as JSON."""
JOB_ATTEMPTS: Final = "plimsoll.dev/job-attempts"
"""Annotation written by Plimsoll on a Job's pod template: how often the Job tries each run."""
JOB_NAME: Final = "plimsoll.dev/job-name"
"""Annotation written by Plimsoll on a Job's pod template: the prefix of its generated name."""
KILLED_ATTEMPTS: Final = "plimsoll.dev/killed-attempts"
"""Label or annotation of a Job or its template: count | ignore."""
UNCOUNTED: Final = "plimsoll.dev/uncounted"
"""Annotation written by Plimsoll on a Job's pod template: the Job does not count a failure of a pod
that has the condition ``LOWERED``."""
LOWERED: Final = "plimsoll.dev/lowered"
"""Condition of a pod, written by Plimsoll: its limit is lower than its author wrote it."""
RUN_OF: Final = "plimsoll.dev/run-of"
"""Annotation written by Plimsoll on a retry it made: the UID of the run's first pod."""
RETRY_OF: Final = "plimsoll.dev/retry-of"
"""Annotation written by Plimsoll on a retry it made: the UID of the attempt it follows."""
RETRIED_AS: Final = "plimsoll.dev/retried-as"
"""Annotation written by Plimsoll on a killed pod: the name of the retry that it made of it."""
LEADER: Final = "plimsoll.dev/leader"
"""Label on the controller's pod that leads: its Services select it."""
CERTIFICATE: Final = "plimsoll.dev/certificate"
"""Annotation on admission's pods: the time until which the newest certificate is valid."""

PRODUCT: Final = "app.kubernetes.io/name=plimsoll"
"""Selects all objects of an installation."""
COMPONENT: Final = "app.kubernetes.io/component"
"""Label of an installation's objects: admission | controller | agent."""
CONTROLLERS: Final = f"{PRODUCT},{COMPONENT}=controller"
