"""Describes a task in a few sentences, which `kubectl describe` shows first."""

from __future__ import annotations

from collections.abc import Iterator

from plimsoll_operator.names.conditions import timestamp
from plimsoll_operator.policy.policy_levels import PausedBy
from plimsoll_operator.profile.facts import ProfileFacts
from plimsoll_operator.wording.budget_words import words_for_spent
from plimsoll_operator.wording.cause_words import words_for_causes
from plimsoll_operator.wording.raised_words import (
    words_for_burst,
    words_for_reached,
    words_for_rule,
)
from plimsoll_operator.wording.saving_words import sentence_for_saving
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.deciding.lifting import LIFTING_OFF
from plimsoll_predictor.experts.panel import words_for_expert
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, REQUEST
from plimsoll_predictor.knowledge.knowledge import Knowledge

_PAUSED_IN = {
    PausedBy.CLUSTER: "in the whole cluster",
    PausedBy.NAMESPACE: "in this namespace",
    PausedBy.TASK: "for this task",
}

_DOES = {
    Mode.OFF: "off: pods are neither changed nor observed",
    Mode.RECOMMEND: "nothing is changed: what pods would get is written on them (mode recommend)",
    Mode.ENFORCE: "pods get the sizes decided here (mode enforce)",
}


def profile_story(facts: ProfileFacts) -> list[str]:
    """Return the sentences, the most important first."""
    return [
        f"{words[0].upper()}{words[1:]}." for words in (_does(facts), *_history(facts)) if words
    ]


def serving(knowledge: Knowledge) -> str:
    """Return the expert that decides the size; below ``min_runs`` that is the user's request."""
    return str(knowledge.champion) if knowledge.runs >= knowledge.policy.min_runs else REQUEST


def _does(facts: ProfileFacts) -> str:
    if facts.paused_by is not None:
        return f"paused {_PAUSED_IN[facts.paused_by]}: pods are observed and left as written"
    return _DOES[facts.knowledge.policy.mode]


def _history(facts: ProfileFacts) -> Iterator[str]:
    knowledge = facts.knowledge
    yield _learned(facts)
    yield from _troubles(facts)
    yield _sizes(knowledge)
    if knowledge.floor is not None:
        yield knowledge.floor.words
    if facts.standing is not None and facts.standing.drift.drifting:
        yield facts.standing.drift.words
    yield from facts.asks_sentences
    yield _saving(facts)
    yield _would(facts)
    if facts.standing is not None:
        spent, budget = facts.standing.spent, knowledge.policy.error_budget
        yield words_for_spent(spent, facts.standing.kill_causes, budget)
    # Of a task with everything to tell, a status has no room for what comes last.
    yield facts.costs
    yield words_for_reached(knowledge.shown.floor_bytes)
    yield words_for_burst(knowledge)


def _troubles(facts: ProfileFacts) -> Iterator[str]:
    if facts.leaking is not None:
        yield _given_up(facts.leaking)
    if facts.left is not None:
        yield f"Plimsoll steps back from its latest pod: {facts.left}"
    if facts.causes:
        attempts = counted(len(facts.causes), "attempt")
        yield f"lately {attempts} did not succeed: {words_for_causes(facts.causes)}"


def _given_up(why: str) -> str:
    if why == LIFTING_OFF:
        return why
    return f"a run was given up: {why}; the next ones are sized and lifted as before"


def _saving(facts: ProfileFacts) -> str:
    asked, given = facts.tally.requested_gb_h, facts.tally.allocated_gb_h
    if asked > 0 and (facts.knowledge.policy.mode is Mode.ENFORCE or given != asked):
        verbs = {"did": "its sizes saved", "took": "its sizes took"}
        return f"{sentence_for_saving(asked, given, **verbs)} asked for"
    return ""


def _learned(facts: ProfileFacts) -> str:
    knowledge, tally = facts.knowledge, facts.tally
    attempts, runs = counted(tally.observations, "attempt"), counted(knowledge.runs, "run")
    words = f"{attempts} observed, {runs} with a known need"
    if knowledge.max_need_bytes is not None:
        words += f", the largest {words_for_bytes(knowledge.max_need_bytes)}"
    kills = counted(tally.oom_kills, "attempt")
    return f"{words}; {kills} killed for lack of memory"


def _until_then(knowledge: Knowledge) -> str:
    policy = knowledge.policy
    untried = not knowledge.runs and knowledge.max_need_bytes is None
    if untried and policy.first_size < 1 and not policy.critical:
        return f"until one is, {policy.first_size:.0%} of the request is tried first (firstSize)"
    return "until then the request is kept, unless a run is known to need more"


def _sizes(knowledge: Knowledge) -> str:
    champion, model = serving(knowledge), knowledge.model
    if knowledge.runs < knowledge.policy.min_runs:
        least = knowledge.policy.min_runs
        return f"{knowledge.runs} of the {least} runs needed are known; {_until_then(knowledge)}"
    words = f"sizes are decided by {champion}: {words_for_expert(champion)}"
    if follows := words_for_rule(knowledge.rule, knowledge.runs):
        words += f"; {follows}"
    if knowledge.guarded is not None:
        return f"{words}; {knowledge.guarded.words}"
    if model is None or champion not in (CLASSIFIER, BOOSTING):
        return words
    words += f", model {model.version} of {timestamp(model.trained_s)}"
    if champion == BOOSTING:
        return words
    ceilings = " ".join(words_for_bytes(ceiling) for ceiling in model.bins.ceilings_bytes)
    metrics = model.metrics
    return (
        f"{words}, bins {ceilings}, right in {metrics.accuracy:.1%} of its predictions,"
        f" u-score {metrics.u_score:.3g}%"
    )


def _would(facts: ProfileFacts) -> str:
    would = facts.standing.would if facts.standing else None
    if facts.knowledge.policy.mode is not Mode.RECOMMEND or would is None or not would.runs:
        return ""
    saving = sentence_for_saving(
        would.asked_gb_h, would.decided_gb_h, did="have saved", took="have taken"
    )
    return (
        f"enforcing would {saving} that {counted(would.runs, 'decided run')} asked for,"
        f" and killed {would.killed} of them at the first size ({would.killed / would.runs:.1%})"
    )
