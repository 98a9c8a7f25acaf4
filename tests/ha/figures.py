"""Figures of this folder's tests."""

from __future__ import annotations

from tests.chart.figures import Figures

FIGURES = Figures()
