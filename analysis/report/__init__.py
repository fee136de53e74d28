"""Finished results as one page that can be read a month later."""

from analysis.report.benchmark import render_benchmark
from analysis.report.rendering import render_report
from analysis.report.summary import render_summary

__all__ = ["render_benchmark", "render_report", "render_summary"]
