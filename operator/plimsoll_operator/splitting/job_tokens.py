"""A token for each job: made from one key, so none is stored, and valid for that job alone."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.names.object_names import is_object_name

LEAST_KEY_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class JobName:
    """One creation of a job. Raises ValueError if its namespace, name or run is not a name.

    run: given to it at its creation; it distinguishes a job from an earlier one of its name.
    """

    namespace: str
    name: str
    run: str

    def __post_init__(self) -> None:
        """Check all. No name has a slash, so two jobs never have the same text."""
        if not all(map(is_object_name, (self.namespace, self.name, self.run))):
            raise ValueError("a job has a namespace, a name and a run as Kubernetes names things")

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.run}"


def token_for(key: bytes, namespace: str, run: str) -> str:
    """Make a job's token. key: random bytes that only Plimsoll has.

    The name is not in it: when a Job is created, the API server may not have generated its name
    yet. The server that answers checks that the Job of that name has that run.

    Raises:
        ValueError: for a key that could be guessed.
    """
    if len(key) < LEAST_KEY_BYTES:
        raise ValueError(f"a key of {len(key)} bytes; it has {LEAST_KEY_BYTES} or more")
    return hmac.new(key, f"chunks {namespace}/{run}".encode(), hashlib.sha256).hexdigest()


def digest_of(token: str) -> str:
    """Return what a token can be known by later, and cannot be made from."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def is_token_of(key: bytes, job: JobName, told: str) -> bool:
    """Say whether it is this job's token, in a time that does not depend on the token."""
    token = token_for(key, job.namespace, job.run).encode()
    return hmac.compare_digest(token, told.encode(errors="replace"))
