"""``plimsoll train-shard``: one worker of a round of trainings; an Indexed Job makes its pods.

It loads the libraries once, and does the trainings of its share one by one. Each has its own child
process with a trainer's limits, so a training that dies takes no other with it. A child stores its
result and its end in one transaction. So a worker may be killed at any moment, and another may do
the same share at the same time. The worker's status is 1 if anything is left to do.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from plimsoll_operator.processes.trainer import (
    TrainingOrder,
    budget,
    load_libraries,
    print_result,
    record_failure,
    train_one,
)
from plimsoll_operator.training.limits import (
    BUDGET_S,
    GRACE_S,
    MEMORY_MIB,
    NICENESS,
    ONE_THREAD,
    PATIENCE,
    SEED,
    STORE_BUSY_TIMEOUT_S,
)
from plimsoll_operator.training.spawning import STORE_URL
from plimsoll_predictor.core.policy import Policy

if TYPE_CHECKING:
    from plimsoll_operator.processes.capped_learning import Learning
    from plimsoll_predictor.store import DueTraining, Store

INDEX: Final = "JOB_COMPLETION_INDEX"
"""Kubernetes sets it in the pods of an Indexed Job."""
MOST_STARTS: Final = 3
"""Work that was begun this often and did not end is given up: it may kill its workers."""
_NOT_KEPT: Final = 1
"""Status of a child that could not tell the store how its work ended."""
_BROKEN: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOrder:
    """What a worker does. budget_s, memory_mib: of each training."""

    round: str
    shard: int
    store_url: str
    budget_s: float
    memory_mib: int
    seed: int

    @property
    def limit_s(self) -> float:
        """How long one training may take by the clock."""
        return PATIENCE * self.budget_s + GRACE_S


class Children:
    """Does work in a child process, one at a time; a signal that ends it ends the child, too."""

    def __init__(self) -> None:
        self._pid: int | None = None
        # The first process of a container has no default handler for this signal.
        signal.signal(signal.SIGTERM, self._leave)

    def do(self, work: Callable[[], int], limit_s: float) -> int:
        """Return the child's status, negative for the signal that ended it."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            _be_child(work, limit_s)
        _, status = os.waitpid(self._pid, 0)
        self._pid = None
        return os.waitstatus_to_exitcode(status)

    def _leave(self, _number: int, _frame: FrameType | None) -> None:
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        os._exit(128 + signal.SIGTERM)


def _be_child(work: Callable[[], int], limit_s: float) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    status = _BROKEN
    try:
        status = work()
        sys.stdout.flush()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        # A normal exit would clean up what belongs to the worker.
        os._exit(status)


def run(order: WorkerOrder) -> int:
    """Do all of the share; return the exit status."""
    os.environ.update(ONE_THREAD)
    os.nice(NICENESS - os.nice(0))
    children = Children()
    share = _share(order)
    if share is None:
        return 1
    if share:
        # Here, so that no child has to. They would be most of the cost of a worker without work.
        load_libraries()
    # No connection is open while children are made: they would share it.
    left = [due for due in share if not _ended(children, order, due)]
    return 1 if left else 0


def _share(order: WorkerOrder) -> list[DueTraining] | None:
    """Return None if the store cannot be read now; the next worker of the index tries again."""
    from plimsoll_predictor.store import StoreError

    try:
        with _store(order) as store:
            return store.due.shard(order.round, order.shard)
    except StoreError as error:
        print(f"left for another worker: {error}", file=sys.stderr)
        return None


def _ended(children: Children, order: WorkerOrder, due: DueTraining) -> bool:
    """Have a child do the work; say whether the store knows how it ended."""
    status = children.do(lambda: _begin_and_do(order, due), order.limit_s)
    if status in (0, _NOT_KEPT):
        return status == 0
    if status < 0:
        words = f"killed by signal {-status} (memory cap, or far over its time)"
    else:
        # Linear algebra libraries end the process themselves when they get no memory.
        words = f"the training ended with status {status} and no result (memory cap?)"
    return _keep_failure(order, due, words)


def _begin_and_do(order: WorkerOrder, due: DueTraining) -> int:
    from plimsoll_predictor.store import AlreadyEndedError, StoreError

    try:
        with _store(order) as store:
            starts = store.due.begin(due.work, order.round)
        if starts > MOST_STARTS:
            words = f"its worker died {MOST_STARTS} times while it was trained; see their logs"
            return 0 if _keep_failure(order, due, words) else _NOT_KEPT
        if due.work.task is None:
            return _learn(order, due)
        return _train(order, due)
    except AlreadyEndedError as error:
        print(f"nothing to do: {error}", file=sys.stderr)
        return 0
    except StoreError as error:
        print(f"left for another worker: {error}", file=sys.stderr)
        return _NOT_KEPT


def _train(order: WorkerOrder, due: DueTraining) -> int:
    result: dict[str, Any] = {}

    def train() -> dict[str, Any]:
        result.update(train_one(_training(order, due)))
        return result

    print_result(train)
    return 0 if result["ok"] or result["recorded"] else _NOT_KEPT


def _learn(order: WorkerOrder, due: DueTraining) -> int:
    from plimsoll_predictor.store import Claim

    result: dict[str, Any] = {}

    def learn() -> dict[str, Any]:
        result.update(_learning(due).result(order.store_url, order.memory_mib))
        return result

    print_result(learn)
    claim = Claim(due.work, order.round, {"words": result.get("words")})
    with _store(order) as store:
        store.due.end(claim, None if result["ok"] else str(result["message"]))
    return 0


def _learning(due: DueTraining) -> Learning:
    from plimsoll_operator.processes import features_trainer, shapes_trainer
    from plimsoll_predictor.store import WorkKind

    by_kind = {
        WorkKind.SHAPES: shapes_trainer.LEARNING,
        WorkKind.FEATURES: features_trainer.LEARNING,
    }
    return by_kind[due.work.kind]


def _keep_failure(order: WorkerOrder, due: DueTraining, words: str) -> bool:
    from plimsoll_predictor.store import AlreadyEndedError, Claim, StoreError

    try:
        if due.work.task is not None:
            return record_failure(_training(order, due), words)
        with _store(order) as store:
            store.due.end(Claim(due.work, order.round), words)
    except AlreadyEndedError:
        return True
    except StoreError as error:
        print(f"the failure could not be kept: {error}", file=sys.stderr)
        return False
    return True


def _training(order: WorkerOrder, due: DueTraining) -> TrainingOrder:
    from plimsoll_predictor.store import Claim

    assert due.work.task is not None
    return TrainingOrder(
        task=due.work.task,
        store_url=order.store_url,
        budget_s=order.budget_s,
        memory_mib=order.memory_mib,
        seed=order.seed,
        policy=due.policy or Policy(),
        claim=Claim(due.work, order.round),
    )


def _store(order: WorkerOrder) -> contextlib.closing[Store]:
    from plimsoll_predictor.store import Store

    return contextlib.closing(Store.open(order.store_url, busy_timeout_s=STORE_BUSY_TIMEOUT_S))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command, as the Job's pods run it."""
    parser = argparse.ArgumentParser(
        prog="plimsoll train-shard", description="Do one worker's share of a round of trainings."
    )
    parser.add_argument("--round", required=True, metavar="NAME")
    parser.add_argument(
        "--shard",
        type=int,
        default=os.environ.get(INDEX),
        help=f"the worker's index; default: the environment's {INDEX}",
    )
    parser.add_argument(
        "--store", metavar="URL", dest="store_url", default=os.environ.get(STORE_URL)
    )
    parser.add_argument(
        "--budget", type=budget, default=BUDGET_S, metavar="SECONDS", dest="budget_s"
    )
    parser.add_argument("--memory-mib", type=int, default=MEMORY_MIB)
    parser.add_argument("--seed", type=int, default=SEED)
    order = WorkerOrder(**vars(parser.parse_args(arguments)))
    if not order.store_url:
        parser.error(f"no store: give --store, or set {STORE_URL}")
    if order.shard is None or order.shard < 0:
        parser.error(f"no index: give --shard, or set {INDEX}")
    return run(order)


if __name__ == "__main__":
    sys.exit(main())
