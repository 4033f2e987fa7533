"""What goes wrong on the way to an answer, told in one line."""

from __future__ import annotations


class AnalyticsError(Exception):
    """Expected trouble: no Java, no PySpark, a directory that holds no run, an unknown query."""
