"""A task that people forget while it is trained: a model of its forgotten runs is not kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.processes import trainer
from plimsoll_operator.processes.trainer import TrainingOrder, train_one
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.training import train as training
from tests.builders.stores import NOON_S, TRAIN, an_attempt, open_store


@pytest.mark.slow
@pytest.mark.parametrize("forgotten", [True, False])
def test_a_model_of_forgotten_runs_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: bool
) -> None:
    store = open_store(tmp_path)
    attempts = [an_attempt(f"u{n}").running(NOON_S, NOON_S + 60 + n).built for n in range(12)]
    store.observations.record(attempts)
    train = training.train

    def train_meanwhile(*what: Any) -> Any:
        if forgotten:
            store.forget(TRAIN)
        store.observations.record([an_attempt("later").running(NOON_S, NOON_S + 99).built])
        return train(*what)

    monkeypatch.setattr(training, "train", train_meanwhile)
    monkeypatch.setattr(trainer, "cap_memory", lambda _mib: None)
    url = f"sqlite:///{tmp_path}/store.db"
    order = TrainingOrder(
        task=TRAIN, store_url=url, budget_s=0.1, memory_mib=0, seed=1, policy=Policy()
    )
    result = train_one(order)
    assert result["ok"] is not forgotten
    assert (store.models.newest(TRAIN) is None) is forgotten
    if forgotten:
        assert "forgotten" in result["message"]
        assert result["recorded"], "nobody else has to write it down"
        assert store.trainings.newest(TRAIN) == []
        assert [each.kind for each in store.experts.lessons(0)] == ["ended"]
    store.close()
