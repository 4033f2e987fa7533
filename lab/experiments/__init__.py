"""Runs: execute a scenario, keep what happened, execute it again."""
