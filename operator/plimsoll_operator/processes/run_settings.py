"""What ``plimsoll run`` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plimsoll_predictor.core.policy import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """One machine's Plimsoll.

    host: where the API server reaches admission; must be an address of this machine.
    agent: also measure this machine's pods, as the node called ``node_name``.
    """

    state_dir: Path
    kubeconfig: str | None = None
    context: str | None = None
    store_url: str | None = None
    host: str = "127.0.0.1"
    admission_port: int = 9443
    controller_port: int = 8081
    page_port: int = 8082
    metrics_port: int = 9090
    mode: Mode = Mode.RECOMMEND
    training_budget_s: float = 60.0
    agent: bool = False
    node_name: str = "node-1"
    cgroup_root: Path = Path("/sys/fs/cgroup")

    @property
    def store(self) -> str:
        """URL of the store: the one given, else a file in ``state_dir``."""
        return self.store_url or f"sqlite:///{self.state_dir.resolve()}/plimsoll.db"
