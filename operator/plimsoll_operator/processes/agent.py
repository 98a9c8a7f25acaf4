"""Runs the agent's loop: it reads cgroups, sends reports, and saves maxima and unsent reports."""

from __future__ import annotations

import signal
import threading
import time
import zlib
from pathlib import Path
from typing import Final

import structlog

from plimsoll_operator.agent.alarm_sender import AlarmSender, Send
from plimsoll_operator.agent.connection import Connection, Server
from plimsoll_operator.agent.known_needs import AN_EARLIER, KnownNeeds
from plimsoll_operator.agent.metrics import AgentMetrics, shown
from plimsoll_operator.agent.near_limit import FAST_S, NearLimit
from plimsoll_operator.agent.node_meter import NodeMeter
from plimsoll_operator.agent.node_use_sender import NodeUseSender
from plimsoll_operator.agent.outbox import Outbox
from plimsoll_operator.agent.own_raises import STRATEGIC_PATCH, OwnRaises
from plimsoll_operator.agent.peak_sender import BEAT_S, Controller, Sender
from plimsoll_operator.agent.pod_cgroups import (
    PodCgroup,
    find_hierarchy,
    find_kubepods,
    pods_used_bytes,
    scan,
)
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.agent.spool import Spool, Spooled

log = structlog.get_logger()

LOOK_FOR_KUBEPODS_S: Final = 5.0
LAST_SEND_S: Final = 5.0
PATCH_S: Final = 2.0
"""If the API server has not answered by then, the controller is asked instead."""
MOST_AT_ONCE: Final = 2_000
"""While more reports wait, as without a controller, the end of a cgroup is not saved
at once: each save writes all that waits, and nothing is measured meanwhile."""


def serve(settings: AgentSettings, stop: threading.Event | None = None) -> None:
    """Measure this node's pods until ``stop`` is set; without ``stop``, until SIGTERM or SIGINT.

    It raises CgroupError if there is no memory cgroup hierarchy at ``settings.cgroup_root``.
    """
    stop = stop or _stop_on_signals()
    loop = _Loop(settings)
    loop.sender.start()
    loop.alarms.start()
    with shown(loop.metrics, settings):
        loop.run(stop)
    loop.alarms.stop(LAST_SEND_S)
    # The next agent may have lost all files, as after an upgrade; the controller keeps these.
    loop.outbox.offer(loop.sampler.unreported())
    loop.sender.stop(LAST_SEND_S)
    loop.save()


def api_server(settings: AgentSettings) -> Connection | None:
    """Return the connection to the API server; None if the controller raises this node's pods."""
    if settings.api_server is None:
        return None
    return Connection(
        Server(settings.api_server, settings.api_token_file, settings.api_ca_file, PATCH_S)
    )


def own_raises(node: str, send: Send, api: Connection) -> OwnRaises:
    """Return what raises this node's pods. send: posts a body to a path of the controller."""
    return OwnRaises(node, send, lambda path, body: api.send("PATCH", path, body, STRATEGIC_PATCH))


class _Loop:
    def __init__(self, settings: AgentSettings) -> None:
        self.settings = settings
        self.hierarchy = find_hierarchy(settings.cgroup_root)
        self.spool = Spool(settings.state_dir)
        spooled = self.spool.load()
        outbox = self.outbox = Outbox(settings.spool_bytes, settings.spool_age_s, time.monotonic)
        outbox.restore(spooled.waiting)
        # The controller may have been replaced, too, since that agent reported to it.
        known = self.known = KnownNeeds(AN_EARLIER if spooled.running else "")
        version = self.hierarchy.version
        self.sampler = Sampler(version, spooled.running, time.time, known)
        text = self.sampler.files.text
        self.near_limit = NearLimit(version, self.sampler.last, time.monotonic, text)
        self.kubepods: tuple[Path, ...] = ()
        node, alarmed, api = settings.node_name, Controller(settings), api_server(settings)
        self.alarms = AlarmSender(
            node,
            alarmed.send,
            lambda: pods_used_bytes(self.hierarchy, self.kubepods),
            self.near_limit.raised,
            None if api is None else own_raises(node, alarmed.send, api),
        )
        controller = Controller(settings)
        self.node_meter = NodeMeter(node, self.sampler.last, time.monotonic)
        self.node_use = NodeUseSender(controller.send)
        seed = zlib.crc32(settings.node_name.encode())
        self.sender = Sender(outbox, self.node_use.after(controller.post), seed, known.learn)
        self.metrics = AgentMetrics(outbox, self.sampler, self.near_limit, self.alarms)
        log.info(
            "agent measures",
            node=settings.node_name,
            cgroup_version=self.hierarchy.version.value,
            restored=len(spooled.running),
            unsent=len(outbox),
        )

    def run(self, stop: threading.Event) -> None:
        """Tick by the monotonic clock: jumps of the wall clock do not matter."""
        if len(self.outbox):
            self.sender.wake()
        self.kubepods = self._wait_for_kubepods(stop)
        saved_s = due_s = beat_s = time.monotonic()
        while not stop.is_set():
            began_s = time.monotonic()
            try:
                pods = scan(self.hierarchy, self.kubepods)
            except FileNotFoundError:
                # Kubelet removed its root cgroup, as in a reset; it will make another.
                self.kubepods = self._wait_for_kubepods(stop)
                continue
            ended = self._tick(pods)
            now_s = time.monotonic()
            self.metrics.ticked(now_s - began_s, time.time())
            at_once = ended and len(self.outbox) <= MOST_AT_ONCE
            if at_once or now_s - saved_s >= self.settings.save_every_s:
                self.save()
                saved_s = now_s
            if now_s - beat_s >= BEAT_S:
                self.sender.beat()
                beat_s = now_s
            due_s = max(due_s + self.settings.interval_s, now_s)
            self._watch_until(due_s, stop)

    def save(self) -> None:
        """Save maxima and unsent reports, in one file."""
        self.spool.save(Spooled(self.sampler.running(), tuple(self.outbox.waiting())))

    def _watch_until(self, due_s: float, stop: threading.Event) -> None:
        """Wait for the next tick, and watch meanwhile the pods that near their limits."""
        while (left_s := due_s - time.monotonic()) > 0 and not stop.is_set():
            if not self.near_limit.watches or left_s <= FAST_S:
                stop.wait(left_s)
                return
            stop.wait(FAST_S)
            self.alarms.offer(self.near_limit.look())

    def _tick(self, pods: list[PodCgroup]) -> bool:
        """Return whether a cgroup ended: until it is saved, only this process knows it."""
        reports = self.sampler.tick(pods)
        self.alarms.offer(self.near_limit.tick(pods, self.known.rescuable))
        self.alarms.want(self.near_limit.rising if self.alarms.own else ())
        self.metrics.reported(reports)
        dropped = self.outbox.dropped
        self.outbox.offer(reports)
        if self.outbox.dropped > dropped:
            log.warning("reports dropped, too many or too old", dropped=self.outbox.dropped)
        if reports:
            self.sender.wake()
        if self.sampler.read_all:
            self._measure_node(pods)
        return any(report.final for report in reports)

    def _measure_node(self, pods: list[PodCgroup]) -> None:
        """Measure the node's use; no error here may stop peaks and alarms."""
        try:
            self.node_use.offer(self.node_meter.measure(pods))
        except Exception as error:
            log.warning("the node's use cannot be read", why=str(error))

    def _wait_for_kubepods(self, stop: threading.Event) -> tuple[Path, ...]:
        while not stop.is_set():
            if found := find_kubepods(self.hierarchy):
                log.info("pods' cgroups found", folders=[str(path) for path in found])
                return found
            log.warning(
                "no kubepods cgroup; kubelet makes one when it starts",
                searched=str(self.hierarchy.memory),
            )
            stop.wait(LOOK_FOR_KUBEPODS_S)
        return ()


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
