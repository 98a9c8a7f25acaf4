"""``plimsoll explain NAMESPACE/TASK | NAMESPACE/POD``: who decides a task's sizes, and why."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.sizes.explain_tables import explained
from plimsoll_operator.commands.sizes.policies_in_force import policy_in_force
from plimsoll_operator.kube.api_server import CORE, path_of
from plimsoll_operator.kube.errors import ApiError, NoCluster, NotFound
from plimsoll_operator.pods.features import read_features
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import NotSizable, Pod, sized_container
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.views.counterfactuals import Situation, outlook_of
from plimsoll_operator.views.explanation import Asked, Explanation, PodDecision
from plimsoll_operator.views.stored_standings import LATEST, StoredStandings, UsualRun, usual_run
from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.record import FeatureValue, Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import Store, StoreError

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
    installation: Installation = field(default_factory=Installation)


def explain_command(request: ExplainRequest, output: OutputForm) -> int:
    """Print who decides a task's sizes and why; the exit status."""
    try:
        explanation = _explanation(request)
    except (StoreError, ApiError, NothingToExplain, ValueError) as error:
        complain(f"plimsoll explain: {error}")
        return 1
    print_output(explanation.to_dict(), explained(explanation), output)
    return 0


def _explanation(request: ExplainRequest) -> Explanation:
    named = TaskId.parse(request.named)
    with existing_store(request.store_url) as store:
        tasks = store.totals.tasks()
        if named in tasks or store.decisions.newest(named, limit=1):
            return _of_task(store, _Subject(named), request.installation)
        pod = find_pod(named, request.installation, tasks, store.where)
        task, decision = decided(pod, named)
        ask = asked_by(pod, decision)
        return _of_task(store, _Subject(task, decision, ask), request.installation)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is explained. pod: None if the task is; ask: what the pod says; None: the usual run."""

    task: TaskId
    pod: PodDecision | None = None
    ask: Ask | None = None


def _of_task(store: Store, subject: _Subject, installation: Installation) -> Explanation:
    task = subject.task
    saved, latest = store.models.newest(task), store.observations.of_task(task, limit=LATEST)
    model = saved.model if saved else None
    usual = usual_run(latest)
    if subject.ask is not None:
        usual = UsualRun(subject.ask.request_bytes, subject.ask.features)
    summary, standings = store.totals.of(task), StoredStandings(store)
    holds = asyncio.run(policy_in_force(task, installation))
    standing = standings.standing(task)
    known = Knowledge(
        task=task,
        policy=holds.policy,
        runs=summary.runs_known,
        max_need_bytes=summary.max_need_bytes,
        model=model,
    )
    situation = Situation(
        ask=Ask(features=dict(usual.features), request_bytes=usual.request_bytes),
        knowledge=_informed(known, standing),
        bounds=holds.bounds,
        seen=seen_values(latest),
        standing=standing,
        pool=standings.pool(task),
    )
    return Explanation(
        task=task,
        summary=summary,
        asked=Asked(usual.request_bytes, tuple(sorted(usual.features))),
        standing=standings.facts(task, usual, model),
        decisions=tuple(store.decisions.newest(task, limit=DECISIONS)),
        pod=subject.pod,
        outlook=outlook_of(situation, holds.assumed),
    )


def _informed(known: Knowledge, standing: Standing | None) -> Knowledge:
    """As the controller's book has it: how many runs are known is the store's to say."""
    if standing is None:
        return known
    said = standing.inform(known)
    return replace(said, runs=known.runs, max_need_bytes=known.max_need_bytes)


def seen_values(latest: Sequence[Observation]) -> dict[str, list[FeatureValue]]:
    """Feature -> the values that the latest runs had, the commonest first."""
    counted: dict[str, Counter[FeatureValue]] = {}
    for each in latest:
        for name, value in each.features.items():
            counted.setdefault(name, Counter())[value] += 1
    return {name: [value for value, _ in found.most_common()] for name, found in counted.items()}


def find_pod(named: TaskId, installation: Installation, tasks: Sequence[TaskId], where: str) -> Pod:
    """The pod of that name, where no task has it.

    tasks: that there are. where: the store, in words.

    Raises NothingToExplain if there is none either.
    """
    unknown = f"{named}: {where} knows no such task"
    near = nearest(named, tasks)
    try:
        return asyncio.run(_read_pod(installation, named))
    except NotFound:
        raise NothingToExplain(f"{unknown}, and the cluster no such pod; {near}") from None
    except NoCluster:
        words = "name a pod together with --kubeconfig"
        raise NothingToExplain(f"{unknown}; {near}; {words}") from None
    except (ApiError, TimeoutError) as error:
        why = str(error) or f"no answer within {ANSWER_WITHIN_S:g} s"
        raise NothingToExplain(f"{unknown}, and no pod could be looked up: {why}; {near}") from None


async def _read_pod(installation: Installation, named: TaskId) -> Pod:
    async with asyncio.timeout(ANSWER_WITHIN_S), cluster_objects(installation) as objects:
        return await objects.get(path_of(CORE, "pods", named.namespace, named.name))


def task_of_pod(pod: Pod, named: TaskId) -> TaskId:
    """Whose pod it is.

    Raises NothingToExplain if it is not Plimsoll's.
    """
    identity = identify(pod)
    if identity is None:
        raise NothingToExplain(
            f"pod {named} has no task: label its template plimsoll.dev/task: NAME"
        )
    return identity.task


def decided(pod: Pod, named: TaskId) -> tuple[TaskId, PodDecision]:
    """Whose pod it is, and what was decided of it.

    Raises NothingToExplain if it is not Plimsoll's.
    """
    return task_of_pod(pod, named), PodDecision(named.name, read_note(pod))


def asked_by(pod: Pod, decision: PodDecision) -> Ask | None:
    """What a pod asks for, as its author wrote it; None if no container of it can be sized."""
    container, note = sized_container(pod), decision.note
    if isinstance(container, NotSizable):
        return None
    request_bytes = container.request_bytes if note is None else note.was_request_bytes
    context = {} if note is None else note.context
    features = {**read_features(pod).values, **context}
    return Ask(features=features, request_bytes=request_bytes)


def nearest(named: TaskId, tasks: Sequence[TaskId]) -> str:
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
