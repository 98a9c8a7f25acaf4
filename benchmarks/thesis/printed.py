"""The printed numbers of the thesis: Tables 4 and 6 to 13, and the statements of chapter 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.thesis.tasks import HEAVY_1, HEAVY_2

Ceilings = tuple[float, ...]
"""The ceilings of a binning, in GB, ascending; the last is the static allocation."""

BINNINGS: Final[Mapping[str, tuple[Ceilings, ...]]] = {
    HEAVY_1: ((30, 350), (10, 60, 350), (10, 20, 60, 350)),
    HEAVY_2: ((40, 200), (20, 70, 200), (10, 30, 70, 200)),
}
PENALTY: Final = 10.0
"""The penalty of the u-score (Figure 15)."""

Key = tuple[str, Ceilings]


@dataclass(frozen=True, slots=True)
class Optimal:
    """A row of Table 6, per cent."""

    plain: float
    time_based: float


@dataclass(frozen=True, slots=True)
class Scored:
    """A cell pair of Tables 7 and 8: accuracy in per cent, u-score."""

    accuracy: float
    u_score: float


@dataclass(frozen=True, slots=True)
class Estimated:
    """A row of Table 11, per cent."""

    optimal: float
    accuracy: float
    u_rate: float
    estimated: float


TABLE_6: Final[Mapping[Key, Optimal]] = {
    (HEAVY_1, (30, 350)): Optimal(89.9, 79.3),
    (HEAVY_1, (10, 60, 350)): Optimal(95.9, 88.1),
    (HEAVY_1, (10, 20, 60, 350)): Optimal(96.2, 89.0),
    (HEAVY_2, (40, 200)): Optimal(78.7, 59.4),
    (HEAVY_2, (20, 70, 200)): Optimal(88.7, 71.0),
    (HEAVY_2, (10, 30, 70, 200)): Optimal(93.4, 74.3),
}
TABLES_7_8: Final[Mapping[tuple[str, Ceilings, str], Scored]] = {
    (HEAVY_1, (30, 350), "xgboost"): Scored(99.8, 0.2),
    (HEAVY_1, (30, 350), "svm"): Scored(99.1, 3.0),
    (HEAVY_1, (10, 60, 350), "xgboost"): Scored(97.5, 4.5),
    (HEAVY_1, (10, 60, 350), "svm"): Scored(96.6, 5.5),
    (HEAVY_1, (10, 20, 60, 350), "xgboost"): Scored(96.1, 28.4),
    (HEAVY_1, (10, 20, 60, 350), "svm"): Scored(96.6, 13.6),
    (HEAVY_2, (40, 200), "xgboost"): Scored(99.8, 0.2),
    (HEAVY_2, (40, 200), "svm"): Scored(99.3, 0.7),
    (HEAVY_2, (20, 70, 200), "xgboost"): Scored(98.2, 8.0),
    (HEAVY_2, (20, 70, 200), "svm"): Scored(98.9, 5.2),
    (HEAVY_2, (10, 30, 70, 200), "xgboost"): Scored(95.9, 22.5),
    (HEAVY_2, (10, 30, 70, 200), "svm"): Scored(94.3, 20.0),
}
SAMPLERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "svm": ("weights", "random", "smote"),
    "xgboost": ("none", "random", "smote"),
}
"""By classifier: the columns of Tables 9 and 10. The SVM's 'None' is the weighted one."""

TABLES_9_10: Final[Mapping[str, Mapping[Key, tuple[float, float, float]]]] = {
    "svm": {
        (HEAVY_1, (30, 350)): (5.2, 3.0, 3.0),
        (HEAVY_1, (10, 60, 350)): (5.5, 5.7, 5.2),
        (HEAVY_1, (10, 20, 60, 350)): (13.0, 13.6, 13.6),
        (HEAVY_2, (40, 200)): (0.7, 0.7, 0.7),
        (HEAVY_2, (20, 70, 200)): (5.2, 5.2, 5.2),
        (HEAVY_2, (10, 30, 70, 200)): (20.0, 24.8, 24.5),
    },
    "xgboost": {
        (HEAVY_1, (30, 350)): (4.8, 0.2, 2.5),
        (HEAVY_1, (10, 60, 350)): (10.2, 5.0, 4.5),
        (HEAVY_1, (10, 20, 60, 350)): (36.8, 28.4, 18.6),
        (HEAVY_2, (40, 200)): (4.8, 0.9, 0.2),
        (HEAVY_2, (20, 70, 200)): (11.4, 9.3, 8.0),
        (HEAVY_2, (10, 30, 70, 200)): (30.7, 21.6, 22.5),
    },
}
TABLE_11: Final[Mapping[Key, Estimated]] = {
    (HEAVY_1, (30, 350)): Estimated(79.3, 99.8, 0.0, 79.1),
    (HEAVY_1, (10, 60, 350)): Estimated(88.1, 97.5, 0.2, 85.7),
    (HEAVY_1, (10, 20, 60, 350)): Estimated(89.0, 96.6, 1.1, 84.9),
    (HEAVY_2, (40, 200)): Estimated(59.4, 99.8, 0.0, 59.3),
    (HEAVY_2, (20, 70, 200)): Estimated(71.0, 98.9, 0.5, 69.7),
    (HEAVY_2, (10, 30, 70, 200)): Estimated(74.3, 95.9, 2.0, 69.3),
}
