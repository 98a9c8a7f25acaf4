"""Which suites `make test` runs, and which of them beside each other."""

from __future__ import annotations

from dataclasses import dataclass

NOT_ALONE = "-m 'not alone'"


@dataclass(frozen=True, slots=True)
class Lane:
    """Targets of the Makefile that run one after the other.

    on_cluster: whether they get a cluster of their own, named by the lane. options: for pytest.
    then: lanes that begin when this one is done, if shared targets are left for them.
    """

    name: str
    targets: tuple[str, ...] = ()
    on_cluster: bool = True
    options: str = ""
    then: tuple[Lane, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What runs.

    shared: targets for whichever cluster is free first. before: targets that all others need;
    clusters come up meanwhile.
    """

    side_by_side: tuple[Lane, ...]
    shared: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    @property
    def beside(self) -> list[str]:
        """The targets that run beside each other."""
        return [*(target for lane in self.side_by_side for target in lane.targets), *self.shared]

    @property
    def first_clusters(self) -> list[str]:
        """The names of those that come up at the start."""
        return [lane.name for lane in self.side_by_side if lane.on_cluster]

    @property
    def clusters(self) -> list[str]:
        """The names of all."""
        later = [after.name for lane in self.side_by_side for after in lane.then]
        return self.first_clusters + later


EVERYTHING = Plan(
    (
        Lane(
            "check",
            ("check",),
            on_cluster=False,
            then=(Lane("late", options=NOT_ALONE), Lane("last", options=NOT_ALONE)),
        ),
        Lane(
            "unclustered",
            (
                *("image-built", "test-rendered", "test-browser", "test-tracking"),
                *("test-monitoring", "test-traces"),
            ),
            on_cluster=False,
            then=(Lane("later", options=NOT_ALONE),),
        ),
        # With a fourth beside check, two processors have too much to do, and tests run out of time.
        # More follow when what computes is done: one after the shorter lane, two after check.
        # These targets need no image: it is built meanwhile.
        Lane("first", ("test-harm",), options=NOT_ALONE),
        Lane("second", ("test-e2e",), options=NOT_ALONE),
        Lane("third", ("test-controller",), options=NOT_ALONE),
    ),
    # The longest first, so that all clusters are done at about the same time.
    shared=(
        *("test-chart", "test-ha", "test-followed", "test-apiserver", "test-running"),
        *("test-turns", "test-learning", "test-campaigns", "test-local"),
        *("test-split", "test-image"),
    ),
    before=("setup",),
)


APART = ("test-engines", "test-placing", "bench-alone")
"""Suites that run alone: other people's servers, which start more slowly than a suite may, and
suites that need idle cores: a cluster of two nodes, and measurements of speed.
"""
