"""`plimsoll train`: one task's training."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES, Task, needs_store
from plimsoll_operator.training.limits import BUDGET_S, MEMORY_MIB, SEED

app = typer.Typer()


@needs_store()
def train(
    task: Task,
    budget: Annotated[float, typer.Option(help="Seconds to search.")] = BUDGET_S,
    memory_mib: Annotated[int, typer.Option(help="Memory cap in MiB.")] = MEMORY_MIB,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same model.")] = SEED,
    policy: Annotated[str | None, typer.Option(help="The task's policy as JSON.")] = None,
    *,
    store: str,
) -> None:
    """Train one task's classifier from the store's observations."""
    arguments = [task, "--budget", str(budget), "--seed", str(seed)]
    arguments += ["--memory-mib", str(memory_mib), *(["--policy", policy] if policy else [])]
    from plimsoll_operator.processes.trainer import main as train_one

    raise typer.Exit(train_one([*arguments, "--store", store]))


@needs_store()
def train_shard(
    round_: Annotated[str, typer.Option("--round", help="The round's name.")],
    shard: Annotated[
        int | None,
        typer.Option(envvar="JOB_COMPLETION_INDEX", help="The worker's index in the round."),
    ] = None,
    budget: Annotated[float, typer.Option(help="Seconds to search, for each training.")] = BUDGET_S,
    memory_mib: Annotated[
        int, typer.Option(help="Memory cap in MiB of each training.")
    ] = MEMORY_MIB,
    *,
    store: str,
) -> None:
    """Do one worker's share of a round of trainings; an Indexed Job makes the workers."""
    arguments = ["--round", round_, "--budget", str(budget), "--memory-mib", str(memory_mib)]
    arguments += ["--shard", str(shard)] if shard is not None else []
    from plimsoll_operator.processes.training_worker import main as work

    raise typer.Exit(work([*arguments, "--store", store]))


app.command("train-shard", hidden=True)(train_shard)
app.command("trainer", hidden=True)(train)  # the process's name, like the other three's
app.command(rich_help_panel=PROCESSES)(train)
