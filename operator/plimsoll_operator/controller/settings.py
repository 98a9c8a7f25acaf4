"""The controller's settings: command line over environment (PLIMSOLL_...) over these defaults."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from plimsoll_predictor.policy import Mode


class ControllerSettings(BaseSettings):
    """What one controller needs to know."""

    model_config = SettingsConfigDict(env_prefix="PLIMSOLL_", extra="ignore")

    kubeconfig: str | None = None
    """Path of a kubeconfig; without it, the service account or the usual places."""
    context: str | None = None
    """Context within the kubeconfig; without it, its current one."""
    store_url: str = "sqlite:///plimsoll.db"
    """Where observations and models are kept, as an SQLAlchemy URL."""
    listen_host: str = "127.0.0.1"
    listen_port: int = Field(default=8081, ge=0, le=65535)
    """Feed, peaks, metrics and the report page; 0 takes a free one."""
    token_file: Path | None = None
    """Holds the bearer token of feed and peaks; without it, one is made and written to no file."""
    mode: Mode = Mode.RECOMMEND
    """The cluster-wide default where no SizingPolicy, profile or pod says otherwise."""
    training_budget_s: float = Field(default=60.0, gt=0)
    """Seconds of processor time one training may search; far over it, it is ended."""
    training_memory_mib: int = Field(default=1024, ge=300)
    """Memory cap of a training; its libraries alone take most of the least allowed."""
    late_bindings_per_s: float = Field(default=50.0, ge=0, le=1000)
    """How many waiting pods may be resized a second, two calls each; 0 switches it off."""
    mlflow_url: SecretStr | None = None
    """An MLflow server to log trainings to (PLIMSOLL_MLFLOW_URL); may hold user:password@."""
    mlflow_token_file: Path | None = None
    """Holds a bearer token for it; read again for each call."""
    mlflow_prefix: str = Field(default="plimsoll", max_length=200)
    """Experiments are called PREFIX/NAMESPACE/NAME."""
    instance: str = "plimsoll"
    """Who is named in Events: the pod's name inside a cluster."""
