"""Logs as records: one line of JSON each, or readable columns on a terminal."""

from __future__ import annotations

import logging
import sys

import structlog


def log_as_records() -> None:
    """Send structlog's and the libraries' logs to standard error, in one form."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, render],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # They tell of every step they take; ours say what came of it.
    for library in ("alembic", "kopf", "aiohttp.access"):
        logging.getLogger(library).setLevel(logging.WARNING)


def words_for(error: Exception) -> str | None:
    """What to tell people of an error they can mend; None for one that is ours."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return str(error) if kinds & _MENDABLE else None


_MENDABLE = frozenset(
    {
        "CertificateError",
        "CgroupError",
        "NoCluster",
        "NotReady",
        "OSError",
        "SettingsError",
        "StoreError",
        "ValidationError",
    }
)
"""By name, because importing them here would make every command pay for all."""
