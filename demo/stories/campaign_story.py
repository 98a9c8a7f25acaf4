"""`make demo-campaign`: a campaign learns a task that never ran, then production is sized by it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from demo.cluster.place import ROOT
from demo.runs.campaign_plan import NAME, TASK, campaign, production
from demo.runs.plan import SHOP
from demo.stories.patience import Patience
from demo.stories.story import POLL_S, RUN_WITHIN_S, Story, StoryError, write_json
from demo.watching import figures
from demo.watching.watch import RunView

from plimsoll_operator.names.conditions import ConditionType
from plimsoll_operator.pods.status import read_time

CAMPAIGN_SUMMARY: Final = ROOT / "demo-campaign-summary.json"
CAMPAIGN_PAGE: Final = ROOT / "demo-campaign.html"
TOLD_EVERY: Final = 4
"""Progress is shown after so many scenarios."""
ASKED_KILLS: Final = 1
ASKED_RATIO: Final = 1.25
"""The aim of a campaign: the first forty production runs have at most so many kills, and get at
most this many times their need."""


class CampaignStory(Story):
    """One play of the campaign story, on one cluster."""

    def tell(self) -> Sequence[RunView]:
        """Play all of it. Returns the production runs at their end."""
        self.screen.step("a clean stage: namespaces, CRDs, policies")
        self.set_stage()
        self.screen.step(f"starting Plimsoll: {self.service.words}; it knows nothing of {TASK}")
        with self.service.running(None):
            manifest = campaign(self.place.image)
            self.screen.step(f"campaign {SHOP}/{NAME}: a grid of scenarios of {TASK}")
            began_s = time.monotonic()
            status = self.run_campaign(manifest)
            took_s = time.monotonic() - began_s
            self.await_learned({TASK: ended_s(status)})
            phase = production()
            self.screen.step(phase.title)
            self.play(phase)
            seen = self.look()
            self.settle(seen)
            self.screen.step("what came of it")
            self.conclude_campaign(seen, status, took_s)
        return seen

    @property
    def where_to_look(self) -> Sequence[str]:
        """What people may look at after the end, line by line."""
        kubectl = self.place.shown_kubectl
        return (
            f"Figures: {CAMPAIGN_SUMMARY.name}. The campaign's page: {CAMPAIGN_PAGE.name},"
            " open it in a browser.",
            *self.service.afterwards,
            f"  {kubectl} get profilingcampaigns -A",
            f"  {kubectl} describe profilingcampaign {NAME} -n {SHOP}",
            f"  {kubectl} get pods -n {SHOP} -L plimsoll.dev/scenario",
        )

    def run_campaign(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create it, and show its progress until it is over; return its last status."""
        self.kubectl.create([manifest])
        patience, told = Patience(RUN_WITHIN_S), -1
        while True:
            [found] = self.kubectl.objects("profilingcampaigns", "-n", SHOP)
            status: Mapping[str, Any] = found.get("status") or {}
            phase, done = status.get("phase"), int(status.get("done") or 0)
            if phase == "Refused":
                raise StoryError(f"the campaign is refused: {status.get('conditions')}")
            if done // TOLD_EVERY != told:
                told = done // TOLD_EVERY
                self.screen.tell([_progress(status)])
            if phase in ("Finished", "Stopped"):
                return status
            patience.saw((done, status.get("running"), status.get("killed"), status.get("failed")))
            if patience.is_over:
                raise StoryError(f"the campaign stands still; see {self.service.logs}")
            self.screen.wait(_progress(status))
            time.sleep(POLL_S)

    def conclude_campaign(
        self, seen: Sequence[RunView], status: Mapping[str, Any], took_s: float
    ) -> None:
        """Show the figures and write them to a file, with the report and the page."""
        peaks = self.peaks(seen)
        known = figures.learned(self.kubectl.objects("taskprofiles", "-A"))
        total = figures.figures(seen, peaks)
        self.screen.figures(total, figures.by_task(seen, peaks), known)
        ratio = total.allocated_gb_h / total.peak_gb_h if total.peak_gb_h else None
        summary = {
            "scenarios": status.get("scenarios"),
            "done": status.get("done"),
            "failed": status.get("failed"),
            "campaign_kills": status.get("killed"),
            "campaign_seconds": round(took_s, 1),
            "estimated_saving": status.get("estSaved"),
            "production": figures.summary(total, known),
            "unmeasured": asdict(total)["unmeasured"],
            "allocated_over_peak": None if ratio is None else round(ratio, 3),
        }
        write_json(CAMPAIGN_SUMMARY, summary)
        named = f"{SHOP}/{NAME}"
        self.screen.tell(self.service.answer("campaign", "report", named))
        self.service.answer("campaign", "page", named, "--out", str(CAMPAIGN_PAGE))
        self.screen.tell([words_for_worth(total, ratio)])


def ended_s(status: Mapping[str, Any]) -> float:
    """When a campaign ended, Unix seconds: a training follows.

    Raises:
        StoryError: if it learned nothing.

    """
    if not status.get("done"):
        raise StoryError("the campaign learned nothing")
    ends = (
        read_time(each.get("lastTransitionTime"))
        for each in status.get("conditions") or ()
        if (each.get("type"), each.get("status")) == (ConditionType.PROGRESSING, "False")
    )
    return next((at_s for at_s in ends if at_s is not None), 0.0)


def words_for_worth(total: figures.Figures, ratio: float | None) -> str:
    """The campaign's worth to production, compared with the aim.

    ratio: allocated over needed memory-time; None if nothing was measured.
    """
    times = "nobody measured what they needed" if ratio is None else f"{ratio:.2f} × what they need"
    kills = f"{total.oom_kills} OOM kills (asked: {ASKED_KILLS} at most)"
    return f"production: {total.runs} runs, {kills}, allocated {times} (asked: {ASKED_RATIO})"


def _progress(status: Mapping[str, Any]) -> str:
    done, scenarios = status.get("done") or 0, status.get("scenarios") or "?"
    bins = f", bins {status['binCeilings']}" if status.get("binCeilings") else ""
    saved = f", would save {status['estSaved']}" if status.get("estSaved") else ""
    return f"campaign: {done} of {scenarios} scenarios done{bins}{saved}"
