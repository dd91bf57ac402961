"""The report: every table and figure on one page, and as files for programs."""

from recap.report.examples import ExampleCard, example_card
from recap.report.report import Report
from recap.report.write import write_report

__all__ = ["ExampleCard", "Report", "example_card", "write_report"]
