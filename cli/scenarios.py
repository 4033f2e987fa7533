"""`run`, `validate`, `verify`, `pack`, `unpack`: scenarios and recorded runs."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments import commands


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0: expectations met, 1: not met, 2: invalid."""
    return commands.run(
        arguments.scenario, seed=arguments.seed, live=arguments.live, out=arguments.out, as_json=arguments.json,
        variant=arguments.variant, cluster=_generation(arguments), language=arguments.speaks)


def _generation(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was asked for in place of the scenario's own controllers."""
    given = {"controller": arguments.controller, "controllers": arguments.controllers, "ensemble": arguments.ensemble,
             "combined": arguments.combined, "quorum": arguments.quorum, "era": arguments.era}
    return {name: value for name, value in given.items() if value is not None}


def validate(arguments: argparse.Namespace) -> int:
    """Exit code 0 when the file is a scenario, else 2 with line and key."""
    return commands.validate(arguments.scenario, as_json=arguments.json, language=arguments.speaks)


def verify(arguments: argparse.Namespace) -> int:
    """Exit code 0 only when all of the run comes out as it is recorded, 1 when not, 2 when it is no run."""
    return commands.verify(arguments.run, as_json=arguments.json, language=arguments.speaks)


def pack(arguments: argparse.Namespace) -> int:
    """Exit code 0 when the file is written, else 2."""
    return commands.pack(arguments.directory, arguments.out, as_json=arguments.json, language=arguments.speaks)


def unpack(arguments: argparse.Namespace) -> int:
    """Exit code 0 when the run is there, else 2."""
    return commands.unpack(arguments.file, arguments.out, as_json=arguments.json, language=arguments.speaks)


def lessons(arguments: argparse.Namespace) -> int:
    """Exit code 0."""
    return commands.lessons(as_json=arguments.json, language=arguments.speaks)
