"""kopf's webhook server class, imported without the API client that kopf would pull in.

``import kopf`` imports kubernetes_asyncio where it is installed, only to recognise its classes:
70 MB that admission never uses. kopf does without it when it cannot be imported, so it cannot be,
for as long as that import takes. A process that has loaded either already is left as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_CLIENTS: Final = ("kubernetes_asyncio", "kubernetes", "pykube")


@contextmanager
def _without_clients() -> Iterator[None]:
    hidden = [name for name in _CLIENTS if name not in sys.modules]
    for name in hidden:
        # The import system's own way of saying "not installed".
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with _without_clients():
    from kopf import WebhookServer
    from kopf._cogs.structs.reviews import Response, WebhookClientConfig, WebhookFn
    from kopf._core.engines.admission import UnknownResourceError

__all__ = ["Response", "UnknownResourceError", "WebhookClientConfig", "WebhookFn", "WebhookServer"]
