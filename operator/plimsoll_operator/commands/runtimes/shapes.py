"""``plimsoll shapes``: shows the shapes of tasks' runtimes, or learns them again."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import plain, titled_table
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.training.shapes import learn_and_keep
from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.store import StoreError

_UNITS: Final = {Normalisation.RATIO: "×", Normalisation.DELTA: " s"}


def shapes_command(store_url: str, output: OutputForm, *, learn: bool, now_s: float) -> int:
    """Print the shapes; the exit status.

    learn: learn them again from the store's runs, and store them. now_s: Unix seconds.
    """
    try:
        with existing_store(store_url) as store:
            words = learn_and_keep(store, now_s) if learn else ()
            stored = [store.shapes.catalogue(kind) for kind in Normalisation]
    except (StoreError, ValueError) as error:
        complain(f"plimsoll shapes: {error}")
        return 1
    catalogues = [each for each in stored if each is not None]
    for sentence in words:
        complain(sentence)
    if not catalogues:
        complain(
            "plimsoll shapes: none have been learned; --learn does, from some tasks of 20 runs"
        )
        return 1
    print_output(_document(catalogues), Group(*map(_table, catalogues)), output)
    return 0


def _document(catalogues: list[ShapeCatalogue]) -> dict[str, Any]:
    return {
        each.normalisation.value: {
            key: value for key, value in each.to_dict().items() if key != "format"
        }
        for each in catalogues
    }


def _table(catalogue: ShapeCatalogue) -> RenderableType:
    """The paper's table 2."""
    figures = ("tasks", "runs", "outliers", "middle half", "95th", "std")
    table = titled_table(
        f"{catalogue.normalisation.value}, version {catalogue.version}",
        ("shape", *figures),
        right=figures,
        folding=("shape",),
    )
    unit = _UNITS[catalogue.normalisation]
    for shape in catalogue.shapes:
        statistics = shape.statistics
        table.add_row(
            plain(shape.name),
            f"{shape.members:,}",
            f"{shape.runs:,}",
            f"{statistics.outlier_share:.2%}",
            f"{statistics.interquartile:.3g}{unit}",
            f"{statistics.p95:.3g}{unit}",
            f"{statistics.std:.3g}{unit}",
        )
    return table
