"""Judges of a run's history."""
