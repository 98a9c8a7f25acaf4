"""``plimsoll explain NAMESPACE/TASK | NAMESPACE/POD``: what decides a task's sizes, and why."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.reaching.task_names import NothingToExplain, nearest
from plimsoll_operator.commands.sizes.explain_tables import explained
from plimsoll_operator.commands.sizes.policies_in_force import policy_in_force
from plimsoll_operator.kube.api_server import CORE, path_of
from plimsoll_operator.kube.errors import ApiError, NoCluster, NotFound
from plimsoll_operator.lending.lent_note import as_written
from plimsoll_operator.pods.features import read_features
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import NotSizable, Pod, SizedContainer, sized_container
from plimsoll_operator.sizing.chunk_floor import with_chunk_floor
from plimsoll_operator.sizing.decision_note import memory_asked, read_note
from plimsoll_operator.views.counterfactuals import Situation, outlook_of
from plimsoll_operator.views.explanation import Explanation, PodDecision
from plimsoll_operator.views.report.counting import causes_of
from plimsoll_operator.views.stored_standings import LATEST, StoredStandings, usual_run
from plimsoll_operator.wording.raised_words import words_for_burst
from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.record import FeatureValue, Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.shown import Shown
from plimsoll_predictor.store import Store, StoreError

DECISIONS: Final = 5
ENDS: Final = 50
"""How many of the latest attempts are searched for causes, as for the profile's status."""
ANSWER_WITHIN_S: Final = 10.0


def explain_command(
    named: str, store_url: str, installation: Installation, output: OutputForm
) -> int:
    """Print what decides the sizes of ``namespace/task`` or ``namespace/pod``; the exit status."""
    try:
        explanation = _explanation(TaskId.parse(named), store_url, installation)
    except (StoreError, ApiError, NothingToExplain, ValueError) as error:
        complain(f"plimsoll explain: {error}")
        return 1
    print_output(explanation.to_dict(), explained(explanation), output)
    return 0


def _explanation(named: TaskId, store_url: str, installation: Installation) -> Explanation:
    with existing_store(store_url) as store:
        tasks = store.totals.tasks()
        if named in tasks or store.decisions.newest(named, limit=1):
            return _of_task(store, named, installation)
        pod = find_pod(named, installation, tasks, store.where)
        task, decision = decided(pod, named)
        explanation = _of_task(store, task, installation, asked_by(pod, decision), pod)
        return replace(explanation, pod=decision)


def _of_task(
    store: Store,
    task: TaskId,
    installation: Installation,
    ask: Ask | None = None,
    pod: Pod | None = None,
) -> Explanation:
    """ask: of the named pod; None takes the task's usual run, without a pod."""
    saved, latest = store.models.newest(task), store.observations.of_task(task, limit=LATEST)
    model = saved.model if saved else None
    ask = ask or usual_run(latest)
    summary, standings = store.totals.of(task), StoredStandings(store)
    in_force = asyncio.run(policy_in_force(task, ask, installation))
    standing = standings.standing(task)
    knowledge = Knowledge(
        task=task,
        policy=in_force.policy,
        runs=summary.runs_known,
        max_need_bytes=summary.max_need_bytes,
        model=model,
        lifts=store.lifts.of_task(task),
        shown=Shown(floor_bytes=in_force.reached_bytes),
    )
    situation = Situation(
        ask=ask,
        knowledge=_with_floor(_informed(knowledge, standing), pod),
        bounds=in_force.bounds,
        lift_bounds=in_force.lift_bounds,
        values=latest_values(latest),
        standing=standing,
        pool=standings.pool(task),
    )
    return Explanation(
        task=task,
        summary=summary,
        ask=ask,
        standing=standings.facts(task, ask, model, in_force.policy),
        decisions=tuple(store.decisions.newest(task, limit=DECISIONS)),
        outlook=outlook_of(situation, in_force.assumed),
        causes=tuple(causes_of(latest[-ENDS:])),
        reached_bytes=in_force.reached_bytes,
        burst=words_for_burst(knowledge),
    )


def _informed(knowledge: Knowledge, standing: Standing | None) -> Knowledge:
    """Add the experts' rule from the controller's book; the store counts the runs."""
    if standing is None:
        return knowledge
    informed = standing.inform(knowledge)
    return replace(informed, runs=knowledge.runs, max_need_bytes=knowledge.max_need_bytes)


def _with_floor(knowledge: Knowledge, pod: Pod | None) -> Knowledge:
    """Add what the pod's chunk may need, as admission does."""
    container = None if pod is None else sized_container(pod)
    if pod is None or not isinstance(container, SizedContainer):
        return knowledge
    return with_chunk_floor(pod, memory_asked(container, read_note(pod)), knowledge)


def latest_values(latest: Sequence[Observation]) -> dict[str, list[FeatureValue]]:
    """Feature -> the values that the latest runs had, the commonest first."""
    counts: defaultdict[str, Counter[FeatureValue]] = defaultdict(Counter)
    for observation in latest:
        for name, value in observation.features.items():
            counts[name][value] += 1
    return {name: [value for value, _ in by.most_common()] for name, by in counts.items()}


def find_pod(named: TaskId, installation: Installation, tasks: Sequence[TaskId], where: str) -> Pod:
    """The pod of a name that no task has.

    tasks: all that the store knows. where: the store, in words.

    Raises NothingToExplain if there is no such pod.
    """
    unknown = f"{named}: {where} knows no such task"
    near = nearest(named, tasks)
    try:
        return asyncio.run(_read_pod(installation, named))
    except NotFound:
        raise NothingToExplain(f"{unknown}, and the cluster no such pod; {near}") from None
    except NoCluster:
        words = "name a pod together with --kubeconfig"
        raise NothingToExplain(f"{unknown}; {words}; {near}") from None
    except (ApiError, TimeoutError) as error:
        why = str(error) or f"no answer within {ANSWER_WITHIN_S:g} s"
        raise NothingToExplain(f"{unknown}, and no pod could be looked up: {why}; {near}") from None


async def _read_pod(installation: Installation, named: TaskId) -> Pod:
    async with asyncio.timeout(ANSWER_WITHIN_S), cluster_objects(installation) as objects:
        # A pod that lends is explained by its original request.
        return as_written(await objects.get(path_of(CORE, "pods", named.namespace, named.name)))


def task_of_pod(pod: Pod, named: TaskId) -> TaskId:
    """The task of a pod.

    Raises NothingToExplain if it is not Plimsoll's.
    """
    identity = identify(pod)
    if identity is None:
        raise NothingToExplain(
            f"pod {named} has no task: label its template plimsoll.dev/task: NAME"
        )
    return identity.task


def decided(pod: Pod, named: TaskId) -> tuple[TaskId, PodDecision]:
    """The task of a pod, and the decision about the pod.

    Raises NothingToExplain if it is not Plimsoll's.
    """
    container = sized_container(pod)
    unsizable = container.why if isinstance(container, NotSizable) else None
    return task_of_pod(pod, named), PodDecision(named.name, read_note(pod), unsizable)


def asked_by(pod: Pod, decision: PodDecision) -> Ask | None:
    """The request of a pod as its author wrote it; None if no container of it can be sized."""
    container, note = sized_container(pod), decision.note
    if isinstance(container, NotSizable):
        return None
    request_bytes = container.request_bytes if note is None else note.was_request_bytes
    context = {} if note is None else note.context
    features = {**read_features(pod).values, **context}
    return Ask(features=features, request_bytes=request_bytes)
