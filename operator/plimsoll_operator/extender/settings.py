"""Settings of ``plimsoll extender``, from the environment (``PLIMSOLL_*``) or the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, HttpUrl, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from plimsoll_operator.names.namespaces import OWN_NAMESPACE, excluded_namespaces
from plimsoll_operator.names.service_urls import with_brackets


class ExtenderSettings(BaseSettings):
    """Where the extender listens, what it reads, and how long an answer may take."""

    model_config = SettingsConfigDict(
        env_prefix="PLIMSOLL_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    listen_address: str = "0.0.0.0"
    """Address of both ports."""
    listen_port: int = Field(default=9444, ge=0, le=65535)
    """HTTP port for the scheduler; 0 takes a free one."""
    metrics_listen_port: int = Field(default=9090, ge=0, le=65535)
    """Plain HTTP port of /metrics, /healthz and /readyz; 0 takes a free one."""
    feed_url: str
    """The controller, such as http://10.96.0.7:8081; a bare IPv6 address gets its brackets."""
    feed_token_file: Path
    """Holds the bearer token of the feed; read for every question."""
    feed_ca_file: Path | None = None
    """Certificates to trust for an https feed; None for the system's."""
    deadline_s: float = Field(default=0.04, gt=0, le=0.05)
    """What takes longer is answered by equal scores: a scheduler that waits 50 ms hears it yet."""
    unheard_s: float = Field(default=10.0, ge=0)
    """After this long without any feed it is ready all the same, and answers equal scores."""
    excluded_namespaces: Annotated[frozenset[str], NoDecode] = excluded_namespaces(OWN_NAMESPACE)
    """Namespaces whose pods get equal scores, whatever they say; split by commas."""
    drain_s: float = Field(default=5.0, ge=0)
    """After SIGTERM, how long new questions are still taken: endpoints are removed with a delay."""

    @field_validator("excluded_namespaces", mode="before")
    @classmethod
    def _are_namespaces(cls, names: Any) -> Any:
        return excluded_namespaces(names)

    @field_validator("feed_url")
    @classmethod
    def _is_url(cls, text: str) -> str:
        text = with_brackets(text)
        HttpUrl(text)
        return text
