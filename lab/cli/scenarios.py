"""`run`, `validate` and `verify`: scenarios and recorded runs."""

from __future__ import annotations

import argparse
import importlib
from typing import Any


def _commands() -> Any:
    return importlib.import_module("lab.experiments.commands")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0: expectations met, 1: not met, 2: invalid."""
    code: int = _commands().run(
        arguments.scenario, seed=arguments.seed, live=arguments.live, out=arguments.out, as_json=arguments.json,
        variant=arguments.variant)
    return code


def validate(arguments: argparse.Namespace) -> int:
    """Exit code 0 when the file is a scenario, else 2 with line and key."""
    code: int = _commands().validate(arguments.scenario, as_json=arguments.json)
    return code


def verify(arguments: argparse.Namespace) -> int:
    """Exit code 0 only when the journal comes out byte for byte."""
    code: int = _commands().verify(arguments.directory, as_json=arguments.json)
    return code


def lessons(arguments: argparse.Namespace) -> int:
    """Exit code 0."""
    code: int = _commands().lessons(as_json=arguments.json)
    return code
