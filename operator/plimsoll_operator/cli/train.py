"""`plimsoll train`: one task's training."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    PROCESSES,
    Context,
    InstalledIn,
    Kubeconfig,
    StoreUrl,
    complete_task,
    place_of,
)


def train(
    task: Annotated[str, typer.Argument(metavar="NAMESPACE/TASK", autocompletion=complete_task)],
    budget: Annotated[float, typer.Option(help="Seconds to search.")] = 60.0,
    memory_mib: Annotated[int, typer.Option(help="Memory cap in MiB.")] = 1024,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 1,
    policy: Annotated[str | None, typer.Option(help="The task's policy as JSON.")] = None,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Train one task's classifier from the store's observations."""
    arguments = [task, "--budget", str(budget), "--seed", str(seed)]
    arguments += ["--memory-mib", str(memory_mib), *(["--policy", policy] if policy else [])]
    if store is None:
        from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller

        place = place_of(kubeconfig, context, installed_in)
        raise typer.Exit(run_in_controller(Errand(words=["train", *arguments], place=place)))
    from plimsoll_operator.processes.trainer import main as train_one

    raise typer.Exit(train_one([*arguments, "--store", store]))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command("trainer", hidden=True)(train)  # the process's name, as the other three have theirs
    app.command(rich_help_panel=PROCESSES)(train)
