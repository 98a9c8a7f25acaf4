"""The help of every command as one page: ``python -m plimsoll_operator.command_reference``.

This prints docs/cli.md; a test compares the two.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from typing import Any, Final

WIDTH: Final = 96
INTRODUCTION: Final = """# The command line

`plimsoll COMMAND`, or `kubectl plimsoll COMMAND` where both are installed: kubectl finds the plugin
`kubectl-plimsoll` on the PATH, and completes its words by `kubectl_complete-plimsoll`.
`plimsoll --install-completion` teaches your shell to complete commands, options and names of tasks.

**Where a command looks.** `status`, `pause`, `resume`, `enforce`, `recommend`, `off`, `release`,
`campaign create`, `campaign watch`, `campaign stop` and `spark --teach` need the Kubernetes API
only, and no more rights than for what they show or change. `spark` without `--teach`,
`traces convert`, `campaign airflow` and `replay` of files need no cluster. A command that needs the
store runs in the pod of the controller that leads, by the same means as `kubectl exec`; files stay
on your machine. With `--store` or `PLIMSOLL_STORE_URL` such a command runs here, on that store.

**Which cluster.** `--kubeconfig` and `--context`, else `$KUBECONFIG`, else `~/.kube/config`, as for
kubectl. In a pod without any of these it is the pod's own cluster, by its service account.

**Exit status.** 0: done; `status`: healthy. 1: not done, or not healthy; a sentence on stderr says
why. 2: the command line was not understood, or nobody confirmed. 3: `sla`: less likely than
`--at-least`.

`--output json` and `--output yaml` print the same for programs, with bytes as whole numbers.

This page is made by `python -m plimsoll_operator.command_reference > docs/cli.md`.
"""


def reference() -> str:
    """The whole page."""
    # Set before typer is loaded, because it reads the width once.
    os.environ.update(
        TERMINAL_WIDTH=str(WIDTH), COLUMNS=str(WIDTH), _TYPER_FORCE_DISABLE_TERMINAL="1"
    )
    from typer.main import get_command

    from plimsoll_operator.__main__ import app

    parts = [INTRODUCTION, _section("plimsoll", [])]
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]  # a group
        if command.hidden:
            continue
        parts += [
            _section(f"plimsoll {' '.join(path)}", path)
            for path in ([name], *([name, each] for each in getattr(command, "commands", {})))
        ]
    return "\n".join(parts)


def _section(title: str, words: list[str]) -> str:
    return f"## {title}\n\n```text\n{help_of(words)}\n```\n"


def help_of(words: list[str]) -> str:
    """The text that ``plimsoll WORDS --help`` prints, without blanks at the ends of lines."""
    from plimsoll_operator.__main__ import app

    printed = io.StringIO()
    call: Any = app
    with redirect_stdout(printed):
        call([*words, "--help"], prog_name="plimsoll", standalone_mode=False)
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    return "\n".join(lines).strip("\n")


if __name__ == "__main__":
    print(reference(), end="")
