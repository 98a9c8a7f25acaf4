"""``plimsoll status --unrecognised``: pods without a label that no task is read from.

It asks the API for the pods of namespaces that want them recognised, and for each what admission
asks. So it also answers before a namespace says so: name the namespace, and nothing is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import plain, titled_table
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import CORE, path_of
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines.table import ENGINES
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.recognising import CRONJOB, JOB, LeftAlone, recognise
from plimsoll_operator.pods.spec import Pod, metadata_of

NO_LABEL: Final = {"labelSelector": f"!{labels.TASK}"}
ASKED_FOR: Final = {"labelSelector": f"{labels.ENABLED}=true"}
_OF_A_JOB: Final = (
    "a Job whose name was generated, or could have been: create it with a name, or write the label"
    " in spec.template.metadata.labels"
)
MISSING: Final[Mapping[str, str]] = {
    JOB: _OF_A_JOB,
    CRONJOB: _OF_A_JOB,
    **{engine.name: engine.missing for engine in ENGINES},
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
    """The pods without a label. recognised: those that would get one, were they made now."""

    namespaces: tuple[str, ...]
    unrecognised: tuple[Unrecognised, ...]
    recognised: int
    services: int
    refused: int


def unrecognised_command(
    installation: Installation, namespace: str | None, limit: int, output: OutputForm
) -> int:
    """Print what is left alone; 0 unless the API could not be asked.

    namespace: whose pods are read, whether or not it wants them recognised; None for all that do.
    limit: most rows of the table.
    """
    try:
        namespaces, pods = asyncio.run(_read(installation, namespace))
    except ApiError as error:
        complain(f"plimsoll status: {error}")
        return 1
    found = unlabelled_of(namespaces, pods)
    print_output(asdict(found), unrecognised_tables(found, limit), output)
    return 0


async def _read(
    installation: Installation, namespace: str | None
) -> tuple[list[str], list[dict[str, Any]]]:
    async with cluster_objects(installation) as objects:
        namespaces = [namespace] if namespace is not None else []
        if namespace is None:
            asked = await objects.items(path_of(CORE, "namespaces"), ASKED_FOR)
            namespaces = sorted(str(metadata_of(each).get("name")) for each in asked)
        paths = [path_of(CORE, "pods", each) for each in namespaces]
        lists = await asyncio.gather(*(objects.items(path, NO_LABEL) for path in paths))
    return namespaces, [pod for pods in lists for pod in pods]


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
    return Unlabelled(tuple(namespaces), tuple(listed), **counts)


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
    if not found.namespaces:
        words = f'no namespace has the label {labels.ENABLED}: "true", so only labelled pods count'
        return plain(words)
    ending = (
        f"{found.recognised} other pods would be recognised if they were made now,"
        f" {found.services} are of services, {found.refused} refuse"
    )
    if not found.unrecognised:
        return Group(plain("every pod that could be a task's is recognised"), plain(ending))
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
                 plain(ending))  # fmt: skip
