"""The controller's settings: command line over environment (PLIMSOLL_...) over these defaults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from plimsoll_operator.names.namespaces import excluded_namespaces
from plimsoll_operator.names.object_names import LONGEST_NAME, is_object_name
from plimsoll_operator.training.limits import BUDGET_S, MEMORY_MIB
from plimsoll_predictor.core.policy import Mode

NINETY_DAYS_S = 90 * 86_400.0
_HOST = re.compile(r"[0-9A-Za-z:](?:[-0-9A-Za-z.:]*[0-9A-Za-z:])?", re.ASCII)


class ControllerSettings(BaseSettings):
    """The settings of one controller."""

    model_config = SettingsConfigDict(
        env_prefix="PLIMSOLL_", extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    kubeconfig: str | None = None
    """Path of a kubeconfig; if None, the service account or the usual places."""
    context: str | None = None
    """Context within the kubeconfig; if None, its current one."""
    store_url: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        default="sqlite:///plimsoll.db", repr=False
    )
    """The database of observations and models, as an SQLAlchemy URL; it may hold a password."""
    listen_host: str = "127.0.0.1"
    listen_port: int = Field(default=8081, ge=0, le=65535)
    """Feed, peaks, metrics and health; 0 takes a free one."""
    page_host: str = "127.0.0.1"
    page_port: int = Field(default=8082, ge=0, le=65535)
    """The page; on loopback, it is seen only through a port forwarded to the pod. 0: a free one."""
    token_file: Path | None = None
    """Holds the bearer token of feed and peaks, if no Secrets do; without it, a token is made, and
    written to no file."""
    mode: Mode = Mode.RECOMMEND
    """The cluster-wide default if no SizingPolicy, profile or pod says otherwise."""
    training_budget_s: float = Field(default=BUDGET_S, gt=0)
    """Seconds of processor time that one training may search; far over it, it is ended."""
    training_memory_mib: int = Field(default=MEMORY_MIB, ge=300)
    """Memory cap of a training; its libraries alone take most of the least allowed."""
    training_job: Path | None = None
    """A Job as YAML, the template of rounds of trainings; without it the controller trains."""
    late_bindings_per_s: float = Field(default=50.0, ge=0, le=1000)
    """How many waiting pods may be resized a second, two calls each; 0 switches it off."""
    lending_flat_s: float = Field(default=60.0, ge=5, le=86_400)
    """How long a running pod's memory is flat before it lends, if its policy allows it."""
    order_least_runtimes: float = Field(default=50.0, ge=1, le=100_000)
    """Pods of a task wait only if it usually runs this many times as long as a release takes."""
    order_most_excess: float = Field(default=0.005, ge=0.001, le=10)
    """How much more an order may slow a task than neighbours as they come, as a share."""
    rescue_by_agent: bool = False
    """Whether agents may be granted raises that they make by themselves and report."""
    leases_port: int | None = Field(default=None, ge=0, le=65535)
    """Port at which pods lease the items of their Jobs; if None, no pod does."""
    leases_host: str = "127.0.0.1"
    """The address of that port."""
    live_bounds: bool = True
    """Whether what running attempts have reached raises the sizes of those to come."""
    feed_models_mib: int = Field(default=80, ge=1, le=65_536)
    """MiB of all models sent to admission, as JSON; it needs three times as much memory."""
    mlflow_url: SecretStr | None = None
    """An MLflow server to log trainings to (PLIMSOLL_MLFLOW_URL); may hold user:password@."""
    mlflow_token_file: Path | None = None
    """Holds a bearer token for MLflow; read again for each call."""
    mlflow_prefix: str = Field(default="plimsoll", max_length=200)
    """Experiments are called PREFIX/NAMESPACE/NAME."""
    task_metrics: int = Field(default=0, ge=0, le=1000)
    """How many tasks have their own metrics: those that waste most. Others are counted together."""
    namespace: str = Field(default="plimsoll", min_length=1, max_length=63)
    """Plimsoll's own namespace."""
    excluded_namespaces: Annotated[frozenset[str], NoDecode] = frozenset()
    """Namespaces in which nothing is done, besides kube-system and its own; comma-separated."""
    instance: str = Field(default="plimsoll", min_length=1, max_length=253)
    """The name in Events and in the Lease: inside a cluster, the pod's name."""
    lease: str | None = None
    """The Lease that controllers compete for; without it, this is the only controller."""
    lease_s: float = Field(default=10.0, ge=3, le=300)
    """How long a leader may be silent before another takes over."""
    tls_secret: str | None = None
    """The Secret of admission's certificate, made and renewed here; if None, others make it."""
    tls_names: Annotated[tuple[str, ...], NoDecode] = ()
    """Host names of admission, such as plimsoll-admission.plimsoll.svc; comma-separated."""
    tls_lifetime_s: float = Field(default=NINETY_DAYS_S, ge=120, le=5 * 365 * 86_400)
    """How long a certificate made here is valid; it is renewed after two thirds of that time."""
    webhook: str = "plimsoll"
    """The MutatingWebhookConfiguration whose caBundle follows a certificate made here, and whose
    selectors follow the namespaces that opt in by their policy, whoever makes the certificate."""
    feed_token_secret: str | None = None
    """The Secret with the token that admission shows the feed, as NAMESPACE/NAME."""
    peaks_token_secret: str | None = None
    """The Secret with the token that agents show, as NAMESPACE/NAME."""

    @property
    def left_alone(self) -> frozenset[str]:
        """All namespaces in which nothing is done."""
        return excluded_namespaces(self.excluded_namespaces, self.namespace)

    @field_validator("excluded_namespaces", mode="before")
    @classmethod
    def _are_namespaces(cls, names: Any) -> Any:
        return excluded_namespaces(names)

    @field_validator("tls_names", mode="before")
    @classmethod
    def _by_commas(cls, text: Any) -> Any:
        if isinstance(text, str):
            return tuple(name.strip() for name in text.split(",") if name.strip())
        return text

    @field_validator("tls_names")
    @classmethod
    def _are_hosts(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if len(name) > LONGEST_NAME or not _HOST.fullmatch(name):
                raise ValueError(f"{name!r:.80} is no host; write DNS names or addresses")
        return names

    @field_validator("lease", "webhook", "namespace")
    @classmethod
    def _is_name(cls, name: str | None) -> str | None:
        if name is not None and not is_object_name(name):
            raise ValueError(f"{name!r:.80} is no name in Kubernetes; write a-z, 0-9, '-' and '.'")
        return name

    @field_validator("tls_secret", "feed_token_secret", "peaks_token_secret")
    @classmethod
    def _names_a_secret(cls, text: str | None) -> str | None:
        if text is not None:
            parts = text.split("/")
            if len(parts) > 2 or not all(map(is_object_name, parts)):
                raise ValueError(f"{text!r:.80} names no Secret; write NAME or NAMESPACE/NAME")
        return text

    @field_validator("page_port", "listen_port", mode="before")
    @classmethod
    def _no_address(cls, value: Any) -> Any:
        # Kubernetes sets PLIMSOLL_PAGE_PORT=tcp://10.96.0.1:8082 for a Service plimsoll-page.
        if isinstance(value, str) and value.startswith(("tcp://", "udp://")):
            return int(value.rpartition(":")[2])
        return value

    @model_validator(mode="after")
    def _names_for_the_certificate(self) -> ControllerSettings:
        if self.tls_secret is not None and not self.tls_names:
            raise ValueError(
                f"the certificate in Secret {self.tls_secret} is for nobody; name what the API"
                " server calls admission by in PLIMSOLL_TLS_NAMES"
            )
        return self
