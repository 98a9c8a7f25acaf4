"""``plimsoll explain NAMESPACE/TASK | NAMESPACE/POD``: who decides a task's sizes, and why."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from rich.console import Console

from plimsoll_operator.annotation import read_note
from plimsoll_operator.commands.explanation import Asked, Explanation, PodDecision
from plimsoll_operator.commands.explanation_tables import explained
from plimsoll_operator.commands.models import PIPED_WIDTH
from plimsoll_operator.controller.kube import ApiError, Kube, NoCluster, NotFound
from plimsoll_operator.identity import identify
from plimsoll_operator.output_forms import OutputForm
from plimsoll_operator.podspec import Pod
from plimsoll_operator.stored_standings import LATEST, StoredStandings, usual_run
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.task import TaskId

DECISIONS: Final = 5
NEAREST: Final = 3
ANSWER_WITHIN_S: Final = 10.0


class NothingToExplain(LookupError):
    """There is no such task or pod; says what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """What to explain. named: ``namespace/task``, or ``namespace/pod``."""

    named: str
    store_url: str
    kubeconfig: str | None = None
    context: str | None = None


def explain_command(request: ExplainRequest, output: OutputForm) -> int:
    """Print who decides a task's sizes and why; the exit status."""
    try:
        explanation = _explanation(request)
    except (StoreError, ApiError, NothingToExplain, ValueError) as error:
        Console(stderr=True).print(f"plimsoll explain: {error}", markup=False, soft_wrap=True)
        return 1
    if output is OutputForm.JSON:
        print(json.dumps(explanation.to_dict(), indent=2))
        return 0
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(explained(explanation))
    return 0


def _explanation(request: ExplainRequest) -> Explanation:
    named = TaskId.parse(request.named)
    store = Store.open(request.store_url)
    try:
        tasks = store.tasks()
        if named in tasks or store.decisions(named, limit=1):
            return _of_task(store, named)
        pod = _pod(request, named, tasks, store.where)
        task, decision = decided(pod, named)
        return _of_task(store, task, decision)
    finally:
        store.close()


def _of_task(store: Store, task: TaskId, pod: PodDecision | None = None) -> Explanation:
    saved = store.model(task)
    usual = usual_run(store.observations(task, limit=LATEST))
    model = saved.model if saved else None
    return Explanation(
        task=task,
        summary=store.summary(task),
        asked=Asked(usual.request_bytes, tuple(sorted(usual.features))),
        standing=StoredStandings(store).facts(task, usual, model),
        decisions=tuple(store.decisions(task, limit=DECISIONS)),
        pod=pod,
    )


def _pod(request: ExplainRequest, named: TaskId, tasks: Sequence[TaskId], where: str) -> Pod:
    """The pod of that name, where no task has it.

    Raises NothingToExplain if there is none either.
    """
    unknown = f"{named}: {where} knows no such task"
    near = _nearest(named, tasks)
    # The client logs that there is no kubeconfig, which we say ourselves.
    logging.disable(logging.CRITICAL)
    try:
        return asyncio.run(_read_pod(request, named))
    except NotFound:
        raise NothingToExplain(f"{unknown}, and the cluster no such pod; {near}") from None
    except NoCluster:
        words = "name a pod together with --kubeconfig"
        raise NothingToExplain(f"{unknown}; {near}; {words}") from None
    except (ApiError, TimeoutError) as error:
        why = str(error) or f"no answer within {ANSWER_WITHIN_S:g} s"
        raise NothingToExplain(f"{unknown}, and no pod could be looked up: {why}; {near}") from None
    finally:
        logging.disable(logging.NOTSET)


async def _read_pod(request: ExplainRequest, named: TaskId) -> Pod:
    async with asyncio.timeout(ANSWER_WITHIN_S):
        kube = await Kube.connect(request.kubeconfig, request.context)
        try:
            return await kube.read_pod(named.namespace, named.name)
        finally:
            await kube.close()


def decided(pod: Pod, named: TaskId) -> tuple[TaskId, PodDecision]:
    """Whose pod it is, and what was decided of it.

    Raises NothingToExplain if it is not Plimsoll's.
    """
    identity = identify(pod)
    if identity is None:
        raise NothingToExplain(
            f"pod {named} has no task: label its template plimsoll.dev/task: NAME"
        )
    return identity.task, PodDecision(named.name, read_note(pod))


def _nearest(named: TaskId, tasks: Sequence[TaskId]) -> str:
    """What was perhaps meant."""
    if not tasks:
        return "no task has been observed yet; is the --store right?"
    names = [str(task) for task in tasks]
    same = [str(task) for task in tasks if task.name == named.name]
    near = same or get_close_matches(str(named), names, n=NEAREST, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near[:NEAREST])}?"
    rest = f" and {len(names) - NEAREST} more" if len(names) > NEAREST else ""
    return f"there are {', '.join(names[:NEAREST])}{rest}"
