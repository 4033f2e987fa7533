"""Scenarios: one file, one lesson."""
