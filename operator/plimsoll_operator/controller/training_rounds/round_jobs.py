"""Makes, reads and deletes the Jobs of rounds of trainings at the API server."""

from __future__ import annotations

from pathlib import Path

from plimsoll_operator.kube.api_server import BATCH, path_of
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import AlreadyThere, NotFound
from plimsoll_operator.training.round_job import BadTemplate, JobTemplate, RoundState, state_of


class RoundJobs:
    """Calls for rounds; errors are ``ApiError``.

    namespace: Plimsoll's own. file: the Job's template; read again for each round.
    """

    def __init__(self, kube: Kube, namespace: str, file: Path) -> None:
        self._kube = kube
        self._namespace = namespace
        self._file = file

    def template(self) -> JobTemplate:
        """Return the template; BadTemplate names the file and what is wrong."""
        try:
            return JobTemplate.parse(self._file.read_text())
        except (OSError, UnicodeDecodeError) as error:
            raise BadTemplate(f"{self._file}: cannot be read: {error}") from error
        except BadTemplate as error:
            raise BadTemplate(f"{self._file}: {error}") from error

    async def create(self, template: JobTemplate, round_: str, shards: int) -> None:
        """Make the round's Job, or find it made."""
        path = path_of(BATCH, "jobs", self._namespace)
        try:
            await self._kube.api.create(path, template.job(round_, shards))
        except AlreadyThere:
            return

    async def state(self, round_: str) -> RoundState:
        """Say how far the round is, as its Job has it."""
        try:
            return state_of(await self._kube.api.get(self._path(round_)))
        except NotFound:
            return RoundState.GONE

    async def delete(self, round_: str) -> None:
        """Delete the Job and its pods; one that is gone is fine."""
        try:
            await self._kube.api.delete(self._path(round_), propagation="Background")
        except NotFound:
            return

    def _path(self, round_: str) -> str:
        return path_of(BATCH, "jobs", self._namespace, round_)
