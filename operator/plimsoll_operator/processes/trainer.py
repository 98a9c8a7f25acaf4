"""``plimsoll train NAMESPACE/NAME``: one task's training, in a process of its own.

Reads the task's observations from the store, trains, writes model and report to the store, and
prints one JSON line: ``{"ok": true, "task": ..., "version": ..., "bins": ..., ...}``, or
``{"ok": false, "task": ..., "message": ..., "recorded": ...}`` with an exit status that is not 0.
It lowers its own priority before it loads anything numeric.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from plimsoll_operator.training.limits import (
    BUDGET_S,
    GRACE_S,
    MEMORY_MIB,
    PATIENCE,
    SEED,
    STORE_BUSY_TIMEOUT_S,
    cap_memory,
    give_way,
)
from plimsoll_operator.training.spawning import STORE_URL
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId

_LIBRARIES: Final = ("imblearn.over_sampling", "skopt", "sklearn.svm", "xgboost")
MOST_BUDGET_S: Final = 7 * 86_400.0
_ALARM_GRACE_S: Final = 120.0
"""The alarm comes so much later than a controller ends a training: it is for when none is left."""


if TYPE_CHECKING:
    from plimsoll_predictor.store import Claim
    from plimsoll_predictor.training.train import TrainingResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOrder:
    """What to train. budget_s: for the search alone. memory_mib: cap of the process.

    claim: of a worker of a round, which saves and ends its work in one step; None without a round.
    """

    task: TaskId
    store_url: str
    budget_s: float
    memory_mib: int
    seed: int
    policy: Policy
    claim: Claim | None = None


def run(order: TrainingOrder) -> int:
    """Train in the calling process, which stays capped; print the result; return the status."""
    give_way(PATIENCE * order.budget_s + GRACE_S + _ALARM_GRACE_S)
    return print_result(lambda: train_one(order))


def print_result(work: Callable[[], Mapping[str, Any]]) -> int:
    """Work, print the result's line, return the exit status."""
    # Output of libraries goes to the log: stdout holds the result and nothing else.
    with contextlib.redirect_stdout(sys.stderr):
        result = work()
    print(json.dumps(result), flush=True)
    return 0 if result["ok"] else 1


def train_one(order: TrainingOrder) -> dict[str, Any]:
    """Train in the calling process, which stays capped, and return its result's line."""
    missing = _missing(order.store_url)
    if missing is not None:
        return {"ok": False, "task": str(order.task), "message": missing, "recorded": False}
    try:
        trained = _train(order)
    except Exception as error:
        message, is_over = _words(order, error), _is_over(error)
    else:
        return {"ok": True, "task": str(order.task), **trained}
    return {
        "ok": False,
        "task": str(order.task),
        "message": message,
        "recorded": is_over or record_failure(order, message),
    }


def _missing(store_url: str) -> str | None:
    """Say that there is no such store: opening it would make an empty one."""
    # Loaded only now: numpy reads its number of threads as it loads.
    from plimsoll_operator.commands.reaching.stored import sqlite_file

    file = sqlite_file(store_url)
    if file is None or file.exists():
        return None
    return f"there is no store {file}; is the --store right?"


def _train(order: TrainingOrder) -> Mapping[str, Any]:
    # Loaded only now: numpy reads its number of threads as it loads.
    from plimsoll_predictor.store import Begun, Store

    with contextlib.closing(
        Store.open(order.store_url, busy_timeout_s=STORE_BUSY_TIMEOUT_S)
    ) as store:
        load_libraries()
        from plimsoll_predictor.training.train import TrainingPlan, train

        cap_memory(order.memory_mib)
        summary = store.totals.of(order.task)
        plan = TrainingPlan(
            policy=order.policy,
            seed=order.seed,
            budget_s=order.budget_s,
            clock=time.process_time,  # so that a busy node does not make models worse
            now_s=time.time(),
        )
        observations = store.observations.of_task(order.task)
        done = train(str(order.task), observations, plan)
        report = {**done.report.to_dict(), "plimsoll_version": version("plimsoll")}
        facts = _facts(done)
        claim = order.claim and replace(order.claim, result=facts)
        store.models.save(
            order.task,
            done.model,
            report,
            out_of_time_costs=done.report.out_of_time_costs,
            began=Begun(summary, claim, observations[-1].attempt_uid if observations else None),
        )
    return facts


def _facts(done: TrainingResult) -> Mapping[str, Any]:
    return {
        "version": done.model.version,
        "bins": len(done.model.bins),
        "runs": done.report.runs,
        "u_score": done.model.metrics.u_score,
        "accuracy": done.model.metrics.accuracy,
        "duration_s": round(done.report.duration_s, 3),
        "cut_by_budget": done.report.cut_by_budget,
    }


def load_libraries() -> None:
    """Load what a training uses, and let linear algebra set up its buffers; see cap_memory."""
    import numpy as np
    from scipy import linalg

    for library in _LIBRARIES:
        import_module(library)
    np.linalg.solve(np.eye(64), linalg.cholesky(np.eye(64)))


def record_failure(order: TrainingOrder, message: str) -> bool:
    """Store the failure. Return False if the process that started this one has to do so."""
    from plimsoll_predictor.store import AlreadyEndedError, Store, StoreError

    try:
        with contextlib.closing(Store.open(order.store_url)) as store:
            began = {
                "seed": order.seed,
                "budget_s": order.budget_s,
                "duration_s": time.process_time(),
                "policy": order.policy.to_dict(),
                "plimsoll_version": version("plimsoll"),
            }
            store.trainings.record_failure(
                order.task, message, time.time(), report=began, claim=order.claim
            )
    except AlreadyEndedError:
        return True  # another worker of its round stored how it ended
    except (StoreError, MemoryError) as error:
        print(f"the failure could not be recorded: {error}", file=sys.stderr)
        return False
    return True


def _is_over(error: Exception) -> bool:
    """Whether the training's end is of no interest to anybody any more."""
    from plimsoll_predictor.store import AlreadyEndedError

    return isinstance(error, AlreadyEndedError)


def _words(order: TrainingOrder, error: Exception) -> str:
    from plimsoll_predictor.store import StoreError

    # XGBoost reports the C++ library's refusal in an exception of its own.
    if isinstance(error, MemoryError) or "bad_alloc" in str(error):
        return (
            f"task {order.task}: training needs more than its cap of {order.memory_mib} MiB "
            f"({error}); raise the cap, or keep fewer observations"
        )
    if isinstance(error, ValueError | StoreError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command, also without the controller, for instance from an Indexed Job."""
    parser = argparse.ArgumentParser(prog="plimsoll train", description="Train one task's model.")
    parser.add_argument("task", type=_task, metavar="NAMESPACE/NAME")
    parser.add_argument(
        "--store",
        metavar="URL",
        dest="store_url",
        default=os.environ.get(STORE_URL),
        help=f"default: the environment's {STORE_URL}",
    )
    parser.add_argument(
        "--budget", type=budget, default=BUDGET_S, metavar="SECONDS", dest="budget_s"
    )
    parser.add_argument("--memory-mib", type=int, default=MEMORY_MIB)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--policy", type=_policy, default=Policy(), metavar="JSON")
    order = TrainingOrder(**vars(parser.parse_args(arguments)))
    if not order.store_url:
        parser.error(f"no store: give --store, or set {STORE_URL}")
    return run(order)


def budget(text: str) -> float:
    """Seconds to search.

    Raises:
        ArgumentTypeError: if the text is no such time.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MOST_BUDGET_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds above 0, a week at most"
        )
    return seconds


def _task(text: str) -> TaskId:
    try:
        return TaskId.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _policy(text: str) -> Policy:
    try:
        return Policy.from_dict(json.loads(text))
    except (ValueError, TypeError, AttributeError) as error:
        raise argparse.ArgumentTypeError(f"is no policy as JSON: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
