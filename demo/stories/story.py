"""The story, step by step: import the history, start Plimsoll, run three phases, show figures."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from demo.cluster.kubectl import Kubectl, KubectlError
from demo.cluster.place import ROOT, Place
from demo.runs.plan import IMPORTED_TASKS, NAMESPACES, LiveRun, Phase, plan
from demo.runs.pods import PART_OF, manifest, namespace, policy
from demo.services.service import Service
from demo.stories.patience import Patience
from demo.watching import figures
from demo.watching.happenings import happenings, states
from demo.watching.screen import Screen
from demo.watching.trainings import LONGEST_TRAINING_S, failures, trained, trainings
from demo.watching.watch import AttemptState, RunView, is_overdue, last_kill_s, views

HISTORY: Final = ROOT / "demo" / "history.csv"
SUMMARY: Final = ROOT / "demo-summary.json"
REPORT: Final = ROOT / "demo-report.html"
CRDS: Final = ROOT / "deploy" / "crds"
SELECTOR: Final = ",".join(f"{name}={value}" for name, value in PART_OF.items())
AT_ONCE: Final = 6
"""Runs in flight, as with a workflow engine: runs that end teach for those that start later."""
POLL_S: Final = 1.0
RUN_WITHIN_S: Final = 300.0
"""The heaviest run takes half a minute on an idle core: if nothing begins or ends for so long,
something hangs."""
SETTLED_WITHIN_S: Final = 30.0
CALL_S: Final = 60.0
"""The longest time between two signs of life for work that the cluster does by itself."""
QUESTIONS: Final = (
    ("forecast", "shop/train-demand"),
    ("what-if", "shop/train-demand", "--memory", "512Mi"),
)
"""Questions at the end, about what the demo has taught."""


class StoryError(Exception):
    """The story cannot go on; the message says why."""


class Story:
    """One play of the story, on one cluster."""

    def __init__(self, place: Place, service: Service, screen: Screen) -> None:
        self.place = place
        self.service = service
        self.screen = screen
        self.kubectl = Kubectl(place.kubectl_command)
        self._runs: list[LiveRun] = []
        self._seen: dict[str, AttemptState] = {}

    def tell(self) -> Sequence[RunView]:
        """Play all of it. Returns the runs at their end."""
        phases = plan()
        self.screen.step("a clean stage: namespaces, CRDs, policies")
        self.set_stage()
        history = HISTORY.relative_to(ROOT)
        self.screen.step(f"starting Plimsoll: {self.service.words}; importing {history}")
        with self.service.running(HISTORY):
            self.await_learned(dict.fromkeys(IMPORTED_TASKS, 0.0))
            for number, phase in enumerate(phases, start=1):
                self.screen.step(f"{number} of {len(phases)}: {phase.title}")
                self.play(phase)
            seen = self.look()
            self.settle(seen)
            self.screen.step("what came of it")
            self.conclude(seen)
        return seen

    @property
    def where_to_look(self) -> Sequence[str]:
        """What people may look at after the end, line by line."""
        kubectl = self.place.shown_kubectl
        return (
            f"Figures: {SUMMARY.name}. Report: {REPORT.name}, open it in a browser.",
            *self.service.afterwards,
            f"  {kubectl} get taskprofiles -A",
            f"  {kubectl} describe taskprofile train-demand -n shop",
            f"  {kubectl} get events -A --field-selector reason=Lifted",
            f"  {kubectl} get pods -n shop -L plimsoll.dev/task",
        )

    def set_stage(self) -> None:
        """Create our own namespaces, new and empty, with the CRDs and policies."""
        self._remove_own_namespaces()
        self.kubectl.apply_files(CRDS)
        self.kubectl("wait", "--for=condition=Established", "--timeout=25s", "-f", str(CRDS))
        self.kubectl.create([namespace(name) for name in NAMESPACES])
        self.kubectl.apply([policy(name) for name in NAMESPACES])
        for name in NAMESPACES:
            self._await_service_account(name)

    def _remove_own_namespaces(self) -> None:
        found = self._own_namespaces()
        for name, labels in found.items():
            if not PART_OF.items() <= labels.items():
                raise StoryError(f"there is a namespace {name} that is not the demo's; it stays")
        for name in found:
            self.kubectl("delete", "ns", name, "--wait=false")
        patience = Patience(CALL_S)
        while left := self._own_namespaces():
            patience.saw([len(self.kubectl.objects("pods", "-n", name)) for name in left])
            if patience.is_over:
                raise StoryError(f"namespaces {', '.join(left)} do not go away")
            self.screen.wait(f"an earlier demo's namespaces go: {', '.join(left)}")
            time.sleep(POLL_S)

    def _own_namespaces(self) -> dict[str, Mapping[str, str]]:
        """The existing namespaces with our names, with their labels."""
        found = [each["metadata"] for each in self.kubectl.objects("ns")]
        return {
            each["name"]: each.get("labels", {}) for each in found if each["name"] in NAMESPACES
        }

    def _await_service_account(self, name: str) -> None:
        """A namespace accepts no pods until its default service account exists."""
        patience = Patience(CALL_S)
        while not self.kubectl("get", "sa", "default", "-n", name, "--ignore-not-found"):
            if patience.is_over:
                raise StoryError(f"namespace {name} gets no default service account")
            time.sleep(0.2)

    def play(self, phase: Phase) -> None:
        """Create a phase's pods and watch them to their ends; wait until they are learned."""
        waiting = list(phase.runs)
        patience = Patience(RUN_WITHIN_S)
        while True:
            seen = self.look(phase)
            patience.saw(dict(self._seen))
            going = [
                view for view in seen if not view.is_over and not is_overdue(view, time.time())
            ]
            if not going and not waiting:
                break
            if patience.is_over:
                names = ", ".join(view.run.name for view in going)
                raise StoryError(f"nothing happened for {RUN_WITHIN_S:.0f} s to {names}")
            self._start(waiting[: max(0, AT_ONCE - len(going))])
            del waiting[: max(0, AT_ONCE - len(going))]
            time.sleep(POLL_S)
        kills = {task: last_kill_s(seen, task) for task in phase.learns}
        self.await_learned({task: at_s for task, at_s in kills.items() if at_s is not None})

    def _start(self, runs: Sequence[LiveRun]) -> None:
        if runs:
            self.kubectl.create([manifest(run, self.place.image) for run in runs])
            self._runs += runs

    def look(self, phase: Phase | None = None) -> Sequence[RunView]:
        """Return how the runs are now, and show what happened since the last look."""
        seen = views(self._runs, self._objects())
        self.screen.tell(happenings(self._seen, seen))
        self._seen |= states(seen)
        if phase is not None:
            mine = [view for view in seen if view.run in phase.runs]
            self.screen.show(phase.title, mine, len(phase.runs))
            return mine
        return seen

    def _objects(self) -> list[dict[str, object]]:
        try:
            return self.kubectl.objects("pods,jobs", "-A", "-l", SELECTOR)
        except KubectlError as error:
            if error.is_temporary:
                time.sleep(POLL_S)
                return self.kubectl.objects("pods,jobs", "-A", "-l", SELECTOR)
            raise

    def await_learned(self, since_s: Mapping[str, float]) -> None:
        """Wait until each of these tasks has a model trained at or after that time."""
        patience = Patience(LONGEST_TRAINING_S + CALL_S)
        left = dict(since_s)
        while left:
            profiles = self.kubectl.objects("taskprofiles", "-A")
            now = trainings(profiles)
            for task in trained(now, left):
                del left[task]
                each = figures.learned(profiles)[task]
                line = f"{task}: {each.champion} serves, model {each.version}"
                self.screen.tell([f"[cyan]{line}, {len(each.bins)} bins[/cyan]"])
            if failed := failures(now, left):
                raise StoryError(f"{'; '.join(failed)}; see {self.service.logs}")
            patience.saw(now)
            if left and patience.is_over:
                names = ", ".join(left)
                waited = f"no training ended for {patience.silence_s:.0f} s"
                raise StoryError(f"{waited}, {names} still untrained; see {self.service.logs}")
            self.screen.wait(f"training: {', '.join(left)}")
            time.sleep(POLL_S / 2)

    def settle(self, seen: Sequence[RunView]) -> None:
        """Wait until the last attempts' peaks are in the store; some may never arrive."""
        patience = Patience(SETTLED_WITHIN_S)
        wanted = {view.success.uid for view in seen if view.success is not None}
        while (left := wanted - self.peaks(seen).keys()) and not patience.is_over:
            patience.saw(len(left))
            self.screen.wait(f"{len(left)} peaks are to arrive")
            time.sleep(POLL_S)

    def peaks(self, seen: Sequence[RunView]) -> Mapping[str, int]:
        """Peak of each attempt that was measured, by pod UID."""
        return self.service.measured_peaks({view.run.task for view in seen})

    def conclude(self, seen: Sequence[RunView]) -> None:
        """Show the figures, write them to demo-summary.json, and write the report."""
        peaks = self.peaks(seen)
        known = figures.learned(self.kubectl.objects("taskprofiles", "-A"))
        total = figures.figures(seen, peaks)
        self.screen.figures(total, figures.by_task(seen, peaks), known)
        write_json(SUMMARY, figures.summary(total, known))
        self.service.write_report(REPORT)
        for question in QUESTIONS:
            self.screen.step(f"plimsoll {' '.join(question)}")
            self.screen.tell(self.service.answer(*question))
        self.screen.tell(self.kubectl("get", "taskprofiles", "-A").splitlines())


def write_json(path: Path, content: object) -> None:
    """Write it in a readable form."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
