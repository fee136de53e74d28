"""Finished results as one page that can be read a month later."""

from analysis.report.rendering import render_report
from analysis.report.summary import render_summary

__all__ = ["render_report", "render_summary"]
