"""``plimsoll status --unrecognised``: pods without a label from which no task can be read.

It asks the API for the pods of namespaces that want them recognised, and judges each like
admission. So it also answers before a namespace says so: name the namespace; nothing is changed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Protocol

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import plain, titled_table
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.credentials.opted_in import SELECTOR, opted_in
from plimsoll_operator.kube.api_server import CORE, custom_path, path_of
from plimsoll_operator.kube.errors import ApiError, NotFound, Refused
from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines.table import ENGINES
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.recognising import CRONJOB, JOB, LeftAlone, recognise
from plimsoll_operator.pods.spec import Pod, metadata_of
from plimsoll_operator.policy.policy_levels import SIZING_POLICY_NAME

NO_LABEL: Final = {"labelSelector": f"!{labels.TASK}"}
ASKED_FOR: Final = {"labelSelector": SELECTOR}
"""Selects namespaces, and SizingPolicies."""
_OF_A_JOB: Final = (
    "a Job whose name was generated, or could have been: create it with a name, or write the label"
    " in spec.template.metadata.labels"
)
_THE_LABEL: Final = re.compile(r"\bthe label\b")
MISSING: Final[Mapping[str, str]] = {
    maker: _THE_LABEL.sub(f"the label {labels.TASK}: <name>", words)
    for maker, words in (
        (JOB, _OF_A_JOB),
        (CRONJOB, _OF_A_JOB),
        *((engine.name, engine.missing) for engine in ENGINES),
    )
}
"""Maker -> what its pods lack, and what to write."""


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """Pods of one maker or owner that are left alone. pod: one of them. write: what would help."""

    namespace: str
    made_by: str
    pods: int
    pod: str
    write: str


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """The pods without a label. recognised: those that would get one, were they made now.

    unread: what could not be read, in words; None if all was.
    """

    namespaces: tuple[str, ...]
    unrecognised: tuple[Unrecognised, ...]
    recognised: int
    services: int
    refused: int
    unread: str | None = None


class Lists(Protocol):
    """Same as ``kube.api_server.ApiServer``."""

    async def items(
        self, path: str, query: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Return a list, read page by page."""


def unrecognised_command(
    installation: Installation, namespace: str | None, limit: int, output: OutputForm
) -> int:
    """Print what is left alone; 0 unless the API could not be asked.

    namespace: whose pods are read, whether or not it wants that; None: all that want it.
    limit: most rows of the table.
    """
    try:
        found = asyncio.run(_read(installation, namespace))
    except ApiError as error:
        advice = "; name a namespace of yours with -n" if namespace is None else ""
        complain(f"plimsoll status: {error}{advice if isinstance(error, Refused) else ''}")
        return 1
    print_output(asdict(found), unrecognised_tables(found, limit), output)
    return 0


async def _read(installation: Installation, namespace: str | None) -> Unlabelled:
    async with cluster_objects(installation) as objects:
        return await read_unlabelled(objects, namespace)


async def read_unlabelled(objects: Lists, namespace: str | None) -> Unlabelled:
    """Read the pods without a label, and judge them. ApiError if they cannot be read.

    namespace: whose; None for all namespaces that ask, by their own label or their policy's.
    """
    namespaces, unread = ([namespace], None) if namespace is not None else await _asking(objects)
    paths = [path_of(CORE, "pods", each) for each in namespaces]
    lists = await asyncio.gather(*(objects.items(path, NO_LABEL) for path in paths))
    found = unlabelled_of(namespaces, [pod for pods in lists for pod in pods])
    return replace(found, unread=unread)


async def _asking(objects: Lists) -> tuple[list[str], str | None]:
    """Return the namespaces that ask, and what could not be asked, in words."""
    asked = await objects.items(path_of(CORE, "namespaces"), ASKED_FOR)
    names, unread = {str(metadata_of(each).get("name")) for each in asked}, None
    try:
        policies = await objects.items(custom_path("sizingpolicies"), ASKED_FOR)
        names.update(opted_in(policies, frozenset()))
    except (NotFound, Refused) as error:
        unread = f"namespaces that ask by their SizingPolicy are not in it: {error}"
    return sorted(names), unread


def unlabelled_of(namespaces: Iterable[str], pods: Iterable[Pod]) -> Unlabelled:
    """Judge pods without a label as admission does. pods: in these namespaces."""
    rows: dict[tuple[str, str], Unrecognised] = {}
    counts = dict.fromkeys(("recognised", "services", "refused"), 0)
    for pod in pods:
        found = recognise(pod)
        if found.why in (None, LeftAlone.SERVICE, LeftAlone.REFUSED):
            counts[_COUNTED[found.why]] += 1
            continue
        metadata = metadata_of(pod)
        namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
        made_by, write = _advice(pod, found.maker)
        row = rows.get((namespace, made_by))
        number = 1 if row is None else row.pods + 1
        rows[namespace, made_by] = Unrecognised(namespace, made_by, number, name, write)
    listed = sorted(rows.values(), key=lambda row: (row.namespace, -row.pods, row.made_by))
    return Unlabelled(
        tuple(namespaces),
        tuple(listed),
        recognised=counts["recognised"],
        services=counts["services"],
        refused=counts["refused"],
    )


_COUNTED: Final[Mapping[LeftAlone | None, str]] = {
    None: "recognised",
    LeftAlone.SERVICE: "services",
    LeftAlone.REFUSED: "refused",
}


def _advice(pod: Pod, maker: str | None) -> tuple[str, str]:
    if maker is not None:
        return maker, MISSING[maker]
    owner = controller_of(pod)
    if owner is None:
        return "nobody (a bare pod)", f"{labels.TASK}: <name> in its metadata.labels"
    kind = str(owner.get("kind"))
    return kind, f"{labels.TASK}: <name> in the labels of the pod template of the {kind}"


def unrecognised_tables(found: Unlabelled, limit: int) -> RenderableType:
    """Show what is left alone. limit: most rows."""
    unread = [] if found.unread is None else [plain(found.unread)]
    if not found.namespaces:
        words = (
            f"no namespace, and no SizingPolicy {SIZING_POLICY_NAME}, has the label"
            f' {labels.ENABLED}: "true", so only labelled pods count'
        )
        return Group(plain(words), *unread)
    ending = (
        f"{found.recognised} other pods would be recognised if they were made now,"
        f" {found.services} are of services, {found.refused} refuse"
    )
    if not found.unrecognised:
        words = "every pod that could be a task's is recognised"
        return Group(plain(words), plain(ending), *unread)
    table = titled_table(
        "left alone: nothing on these pods surely recurs",
        ("namespace", "made by", "pods", "one of them", "what it would need"),
        right=("pods",),
        folding=("one of them", "what it would need"),
    )
    for row in found.unrecognised[:limit]:
        table.add_row(
            *(plain(row.namespace), plain(row.made_by), plain(str(row.pods))),
            *(plain(row.pod), plain(row.write)),
        )
    more = len(found.unrecognised) - limit
    return Group(table, *([plain(f"and {more} more; --limit shows them")] if more > 0 else []),
                 plain(ending), *unread)  # fmt: skip
