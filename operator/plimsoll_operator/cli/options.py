"""Options that several commands share, and the errand of a command to the controller.

A command asks for what it needs by a keyword: ``installation`` for a cluster, ``store`` for a
store's URL. The decorators put the options in the keyword's place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation

LOOK: Final = "Look"
SET: Final = "Set"
PAST_RUNS: Final = "Past runs"
PROCESSES: Final = "Processes"

_cluster_option = partial(typer.Option, rich_help_panel="Which cluster and store")
Kubeconfig = Annotated[
    str | None,
    _cluster_option(metavar="PATH", help="Path of a kubeconfig.", envvar="PLIMSOLL_KUBECONFIG"),
]
Context = Annotated[
    str | None,
    _cluster_option(metavar="NAME", help="Context in the kubeconfig; its current one otherwise."),
]
InstalledIn = Annotated[
    str | None,
    _cluster_option(
        "--installed-in",
        metavar="NAMESPACE",
        help="Namespace of Plimsoll; found by its labels otherwise.",
        envvar="PLIMSOLL_INSTALLED_IN",
    ),
]
StoreUrl = Annotated[
    str | None,
    _cluster_option(
        "--store",
        metavar="URL",
        help="The store, if it can be reached from here; the command runs in the controller's pod"
        " otherwise.",
        envvar="PLIMSOLL_STORE_URL",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAMESPACE", help="All tasks of this namespace."),
]
Output = Annotated[OutputForm, typer.Option("--output", "-o", help="For people, or for programs.")]


def complete_task(incomplete: str) -> list[str]:
    """Tasks with this beginning of ``namespace/name``; none if the cluster does not answer soon."""
    from plimsoll_operator.commands.status.status import task_names

    return task_names(incomplete)


@contextmanager
def understood() -> Iterator[None]:
    """Make a ValueError about what was written on the command line its exit status 2."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def names_of(named: str | list[str] | None) -> str | list[str] | None:
    """Refuse what is not ``namespace/name`` before anything is loaded for it."""
    from plimsoll_predictor.core.task import TaskId

    with understood():
        for each in [named] if isinstance(named, str) else named or ():
            TaskId.parse(each)
    return named


task_argument = partial(typer.Argument, autocompletion=complete_task, callback=names_of)
some_task = partial(task_argument, metavar="[NAMESPACE/TASK]")
Task = Annotated[str, task_argument(metavar="NAMESPACE/TASK")]
TaskOrPod = Annotated[str, task_argument(metavar="NAMESPACE/NAME", help="A task, or a pod.")]


def setting(*names: str, words: str, env: str, default: str | None = None) -> Any:
    """An option of a process that overrides one of its settings; its help tells of the others.

    env: the environment variable of the setting. default: in words; None if there is none.
    """
    # typer is not told of them: the settings read the variable, and have words for a wrong value.
    told = rf"{words} \[env var: {env}]"
    return typer.Option(*names, help=told if default is None else rf"{told} \[default: {default}]")


Feed = Annotated[str | None, setting(words="The controller's URL.", env="PLIMSOLL_FEED_URL")]
FeedToken = Annotated[
    Path | None,
    setting(words="File with the feed's token.", env="PLIMSOLL_FEED_TOKEN_FILE"),
]
Address = Annotated[
    str | None,
    setting(words="Address to listen on.", env="PLIMSOLL_LISTEN_ADDRESS", default="0.0.0.0"),
]
MetricsPort = Annotated[
    int | None,
    setting(
        words="HTTP port of /metrics and /readyz.",
        env="PLIMSOLL_METRICS_LISTEN_PORT",
        default="9090",
    ),
]
ExcludedNamespaces = Annotated[
    str | None,
    setting(words="Namespaces to leave alone, by commas.", env="PLIMSOLL_EXCLUDED_NAMESPACES"),
]
DrainSeconds = Annotated[
    float | None,
    setting(words="Seconds to serve after SIGTERM.", env="PLIMSOLL_DRAIN_S", default="5"),
]


def given_only(**options: Any) -> dict[str, Any]:
    """The options on the command line; for the others, the environment or a default holds."""
    return {name: value for name, value in options.items() if value is not None}


def examples(*shown: tuple[str, str]) -> str:
    r"""Examples below a command's help, with rich's markup: a purpose and a command each.

    >>> examples(("all of it", "plimsoll status"))
    '[bold]Examples[/bold]\n[dim]# all of it[/dim]\n$ plimsoll status'
    """
    lines = [f"[dim]# {purpose}[/dim]\n$ {command}" for purpose, command in shown]
    return "\n".join(["[bold]Examples[/bold]", *lines])


INSTALLATION: Final[Mapping[str, Any]] = {
    "kubeconfig": Kubeconfig,
    "context": Context,
    "installed_in": InstalledIn,
}
NOT_SENT: Final = frozenset({"store", *INSTALLATION, "stdin_bytes"})
"""Options that have a meaning on this machine only, or that the errand sets by itself."""

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def needs_installation(command: Command) -> Command:
    """Give a command the options that name an installation, as ``installation``."""

    def located(**given: Any) -> None:
        installation = _named_installation(given)
        command(**given, installation=installation)

    return _with_options(located, command, INSTALLATION)


def needs_store(
    *,
    stdin: str | None = None,
    out: str | None = None,
    check: Callable[..., object] | None = None,
) -> Decorator:
    """Give a command the options of a store, as ``store``, and of an installation if it needs one.

    Without a store the command runs in the controller's pod, with the same words.
    stdin: the parameter that names a file to read; the file is sent. out: the parameter that names
    a file to write; the file comes back. check: refuses values of parameters before that.
    """

    def decorate(command: Command) -> Command:
        asks_installation = "installation" in inspect.signature(command).parameters

        def located(ctx: typer.Context, **given: Any) -> None:
            installation = _named_installation(given)
            store = given.pop("store")
            if check is not None:
                check(**given)
            if store is None:
                raise typer.Exit(_run_in_controller(ctx, installation, stdin, out))
            if asks_installation:
                given["installation"] = installation
            command(**given, store=store)

        return _with_options(located, command, {"store": StoreUrl, **INSTALLATION})

    return decorate


def given_words(ctx: typer.Context, files: Mapping[str, str]) -> list[str]:
    """The command and its words from the command line, as the controller's pod understands them.

    files: parameter -> the file in the pod that replaces a file of this machine.
    """
    words = _command_names(ctx)
    for parameter in ctx.command.params:
        name = str(parameter.name)
        source = ctx.get_parameter_source(name)
        was_given = source is not None and source.name == "COMMANDLINE"
        if name in NOT_SENT or not (was_given or name in files):
            continue
        value = files.get(name, ctx.params[name])
        if parameter.param_type_name == "argument":
            words += [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
        else:
            words += [parameter.opts[0], *([] if value is True else [str(value)])]
    return words


def _command_names(ctx: Any) -> list[str]:
    """The command's name, after the names of its groups."""
    if ctx.parent is None:
        return []
    return [*_command_names(ctx.parent), str(ctx.command.name)]


def _run_in_controller(
    ctx: typer.Context, installation: Installation, stdin: str | None, out: str | None
) -> int:
    from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller

    words = given_words(ctx, {name: "-" for name in (stdin, out) if name is not None})
    file = None if out is None or str(ctx.params[out]) == "-" else Path(ctx.params[out])
    if file is not None and "stdout_ending" in ctx.params:
        from plimsoll_operator.commands.past_runs.parquet_files import fetched_history

        return fetched_history(file, words, installation)
    with _sent_file(None if stdin is None else ctx.params[stdin]) as path:
        errand = Errand(words=words, installation=installation, stdin=path, out=file)
        return run_in_controller(errand)


def _sent_file(named: Path | None) -> AbstractContextManager[Path | None]:
    if named is None:
        return nullcontext()
    from plimsoll_operator.commands.past_runs.history_files import given_history

    return given_history(named, None)


def _named_installation(given: dict[str, Any]) -> Installation:
    """Take the options of an installation out of ``given``."""
    return Installation(**{name: given.pop(name) for name in INSTALLATION})


def _with_options(located: Command, command: Command, options: Mapping[str, Any]) -> Command:
    """Make typer see the command's own parameters, and the options after them."""
    hints = get_type_hints(command, include_extras=True)
    parameters = [
        each.replace(annotation=hints[name])
        for name, each in inspect.signature(command).parameters.items()
        if name not in {"installation", *options}
    ]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in options.items()
    ]
    if "ctx" in inspect.signature(located).parameters:
        parameters.append(
            inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        )
    located.__name__, located.__doc__ = command.__name__, command.__doc__
    # typer reads a function's signature to find its options.
    located.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return located
