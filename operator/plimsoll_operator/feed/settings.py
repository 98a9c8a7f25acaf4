"""Settings of the processes that answer from what the feed sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, HttpUrl, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from plimsoll_operator.names.namespaces import OWN_NAMESPACE, excluded_namespaces
from plimsoll_operator.names.service_urls import with_brackets


class FeedReaderSettings(BaseSettings):
    """Where such a process listens, what it reads, and how it starts and ends.

    They come from the environment (``PLIMSOLL_*``) or the command line. No field is named ``port``:
    Kubernetes sets ``PLIMSOLL_PORT`` for a Service called plimsoll.
    """

    model_config = SettingsConfigDict(
        env_prefix="PLIMSOLL_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    listen_address: str = "0.0.0.0"
    """Address of both ports."""
    metrics_listen_port: int = Field(default=9090, ge=0, le=65535)
    """Plain HTTP port of /metrics, /healthz and /readyz; 0 takes a free one."""
    feed_url: str
    """The controller, such as http://10.96.0.7:8081; a bare IPv6 address gets its brackets."""
    feed_token_file: Path
    """Holds the bearer token of the feed; read for every question."""
    feed_ca_file: Path | None = None
    """Certificates to trust for an https feed; None for the system's."""
    unheard_s: float = Field(default=10.0, ge=0)
    """After this long without a feed it is ready anyway, and changes nothing by itself."""
    excluded_namespaces: Annotated[frozenset[str], NoDecode] = excluded_namespaces(OWN_NAMESPACE)
    """Namespaces whose pods and Jobs are always left alone; split by commas."""
    drain_s: float = Field(default=5.0, ge=0)
    """After SIGTERM, how long new requests are still taken: endpoints are removed with a delay."""

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
