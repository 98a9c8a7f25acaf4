"""The report page: gathered from the store (data), drawn as one self-contained HTML file (page)."""

from plimsoll_operator.report.page import render
from plimsoll_operator.report.records import ReportData, TaskReport

__all__ = ["ReportData", "TaskReport", "render"]
