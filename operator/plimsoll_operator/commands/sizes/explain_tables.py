"""An explanation as tables in the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from plimsoll_operator.commands.printing.tables import bar, bare_table, panel, plain, titled_table
from plimsoll_operator.profile.standing_facts import ExpertFacts, StandingFacts
from plimsoll_operator.views.counterfactuals import Outlook
from plimsoll_operator.views.explanation import Explanation, PodDecision
from plimsoll_operator.wording.budget_words import words_for_spent
from plimsoll_operator.wording.cause_words import words_for_causes
from plimsoll_operator.wording.figure_words import words_for_minute, words_for_size
from plimsoll_operator.wording.raised_words import words_for_reached
from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.experts.panel import words_for_expert

NAMED_FEATURES: Final = 12
ROOMY: Final = 110
"""From this width on, in columns, a table may contain sentences."""


def explained(explanation: Explanation) -> RenderableType:
    """Show an explanation."""
    parts: list[RenderableType] = []
    if explanation.pod is not None:
        parts.append(_pod(explanation.pod))
    parts.append(_head(explanation))
    if explanation.outlook is not None:
        parts.append(_outlook(explanation.outlook))
    if explanation.standing is not None:
        parts.append(_Experts(explanation.standing))
    parts.append(_decisions(explanation))
    return Group(*parts)


def _pod(pod: PodDecision) -> Panel:
    note = pod.note
    if note is None:
        why = pod.unsizable or "admission did not see it, or sizing is off"
        rows = {"decision": f"none is written on it: {why}"}
    else:
        arrow = "→" if note.mode is Mode.ENFORCE else "would be →"
        asked = "no request" if note.was_request_bytes is None else ""
        before = asked or words_for_size(note.was_request_bytes)
        given = note.allocation_bytes
        rows = {
            "memory": before if given is None else f"{before} {arrow} {words_for_size(given)}",
            "because": note.why,
            "attempt": str(note.attempt),
            "mode": note.mode.value,
        }
    return panel(f"pod {pod.name}", rows)


def _spent(standing: StandingFacts | None) -> dict[str, Text]:
    """Say how many runs were killed below their request; empty if none was."""
    if standing is None or not standing.spent.killed:
        return {}
    return {"too small": plain(words_for_spent(standing.spent, standing.kill_causes, None))}


def _head(explanation: Explanation) -> Panel:
    summary, standing = explanation.summary, explanation.standing
    kills = counted(summary.oom_kills, "OOM kill")
    largest = words_for_size(summary.max_need_bytes)
    counting = ""
    if standing is not None and standing.runs < summary.runs_known:
        counting = f", the last {standing.runs:,} of them count"
    causes = words_for_causes(explanation.causes)
    rows = {
        **_serving(explanation),
        "runs": plain(f"{summary.runs_known:,} known{counting}, {kills}, most needed {largest}"),
        **({"ended badly": plain(causes)} if causes else {}),
        **_spent(standing),
        **_now(explanation),
        "this pod" if _is_of_pod(explanation) else "usual run": plain(_usual(explanation.ask)),
    }
    if standing is not None:
        style = "yellow" if standing.drift.drifting else ""
        rows["drift"] = plain(standing.drift.words, style=style)
        if standing.floor:
            rows["floor"] = plain(standing.floor)
        if standing.price is not None:
            rows["a failure"] = plain(standing.price.words)
    changes = [plain(f"• {words}") for words in explanation.would_change]
    rows["would change"] = Text("\n").join(changes)
    return panel(str(explanation.task), rows)


def _is_of_pod(explanation: Explanation) -> bool:
    """Say whether the request is the pod's; it cannot be read if no container is sized."""
    return explanation.pod is not None and explanation.pod.unsizable is None


def _serving(explanation: Explanation) -> dict[str, Text]:
    standing, outlook = explanation.standing, explanation.outlook
    if standing is None:
        words = "no expert yet"
        if explanation.summary.runs_known:
            words = "no expert: no controller has learned from its runs yet"
        until = "" if outlook is None else f"; until then {outlook.why}"
        return {"serves": plain(words + until)}
    serving = plain(standing.champion, style="bold green")
    serving.append(f": {words_for_expert(standing.champion)}", style="default not bold")
    follows = {"follows": plain(standing.follows)} if standing.follows else {}
    return {"serves": serving, "because": plain(standing.why), **follows}


def _now(explanation: Explanation) -> dict[str, Text]:
    """Say what holds beside ended runs' needs: what else sets the memory, what raises it."""
    reached = words_for_reached(explanation.reached_bytes)
    rows = {"steps back": explanation.left, "running": reached, "burst": explanation.burst}
    return {name: plain(words, style="yellow") for name, words in rows.items() if words}


def _usual(ask: Ask) -> str:
    size = "asks for nothing"
    if ask.request_bytes is not None:
        size = f"asks for {words_for_size(ask.request_bytes)}"
    shown = ", ".join(sorted(ask.features)[:NAMED_FEATURES])
    rest = len(ask.features) - NAMED_FEATURES
    more = f" and {rest} more" if rest > 0 else ""
    return f"{size}; known before it starts: {shown}{more}" if shown else size


def _outlook(outlook: Outlook) -> RenderableType:
    rows = {
        "memory": plain(words_for_size(outlook.size_bytes), style="bold"),
        "because": plain(outlook.why),
        "if killed": plain(outlook.after_kill),
    }
    if outlook.changes:
        width = max(len(words_for_size(each.size_bytes)) for each in outlook.changes)
        lines = [
            plain(f"{words_for_size(each.size_bytes):>{width}}  {each.change}")
            for each in outlook.changes
        ]
        rows["it would be"] = Text("\n").join(lines)
    if outlook.assumed is not None:
        rows["but"] = plain(outlook.assumed, style="yellow")
    return panel("such a run now", rows)


@dataclass(frozen=True, slots=True)
class _Experts:
    """A table of all experts; it shows how each of them bids if there is room."""

    standing: StandingFacts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _experts(self.standing, roomy=options.max_width >= ROOMY)


def _experts(standing: StandingFacts, *, roomy: bool) -> Table:
    table = titled_table(
        "what each would give the usual run, and would have cost so far",
        ("expert", "bids", "cost", "", *(["how"] if roomy else [])),
        right=("bids", "cost"),
        folding=("how",),
        caption="× the champion's cost; failed attempts are priced, older runs count less",
    )
    most = max(standing.times.values(), default=1.0)
    for each in standing.experts:
        style = "bold green" if each.serves else "" if each.eligible else "dim"
        how = plain(_how(each), style="" if each.eligible else "dim")
        table.add_row(
            plain(each.name, style=style),
            words_for_size(each.bid_bytes),
            "-" if each.times is None else f"{each.times:.2f}×",
            Text(bar(each.times, most), style="green" if each.serves else "blue"),
            *([how] if roomy else []),
        )
    return table


def _how(each: ExpertFacts) -> str:
    return each.words if each.eligible else f"{each.words}; not while so few runs are known"


def _decisions(explanation: Explanation) -> RenderableType:
    if not explanation.decisions:
        return plain("no pod of it was decided yet", style="dim")
    table = bare_table("last decisions")
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for each in explanation.decisions:
        table.add_row(words_for_minute(each.at_s), plain(each.words))
    return table
