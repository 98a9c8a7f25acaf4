"""Logs as records: one line of JSON each, or readable columns on a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

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
    # These libraries log every step; our own records give the results.
    for library in ("alembic", "kopf", "aiohttp.access"):
        logging.getLogger(library).setLevel(logging.WARNING)


def words_for(error: Exception) -> str | None:
    """Return the words for an error that people can mend; None for any other error."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "ValidationError" in kinds and hasattr(error, "errors"):
        return "; ".join(_of_setting(each) for each in error.errors())
    return str(error) if kinds & _MENDABLE else None


def is_of_usage(error: Exception) -> bool:
    """Whether the command line, or a setting in its place, is what is wrong."""
    return not {"SettingsError", "ValidationError"}.isdisjoint(
        kind.__name__ for kind in type(error).__mro__
    )


def _of_setting(wrong: Mapping[str, Any]) -> str:
    """Return what is wrong with one setting, as pydantic found it."""
    name = "_".join(str(part) for part in wrong["loc"])
    where = f"{name} (PLIMSOLL_{name.upper()}): " if name else ""
    return f"{where}{wrong['msg'].removeprefix('Value error, ')}"


_MENDABLE = frozenset(
    {
        "CertificateError",
        "CgroupError",
        "NoCluster",
        "NotReady",
        "OSError",
        "SettingsError",
        "StoreError",
        "TableError",
        "ValidationError",
    }
)
"""Errors by name, because importing them here would slow down every command."""
