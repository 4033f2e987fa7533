"""The setting that a lesson contrasts can be chosen in the fork dialog, at the moment of the lesson.

What a lesson contrasts is read from its file: what its forks set, and what its variants have otherwise. The dialog's
own module (`static/model/fork.js`) makes the commands of it, from the state of the world at that moment; the world then
takes them, or it is one of the settings that Kafka reads only when a broker starts, and the trial says so.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.shared_runs import run_once

from broker_core.kernel.errors import CommandError
from broker_core.kernel.inputs import Command
from broker_core.kernel.node import STOPPED
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.inspect import inspect
from lab.clusters.inspect_config import client_of, overrides
from lab.clusters.observe import observe
from lab.clusters.spec import RunSpec, run_from_dict
from lab.experiments.directory import INPUTS, RunDirectory, read_facts
from lab.reexecution import Reexecution
from lab.scenarios import grammar

LESSONS: dict[str, set[str]] = {
    "acks-0": {"acks"},
    "acks-1": {"acks"},
    "acks-all": {"acks"},
    "consumer-sees-only-below-hw": set(),  # it contrasts two moments
    "controller-dies": set(),  # it contrasts who dies
    "isr-shrink-and-catch-up": set(),  # it contrasts a pause and a slow link
    "min-isr-blocks-writes": {"min.insync.replicas"},
    "power-loss": {"flush.messages"},
    "retry-duplicates": {"enable.idempotence"},
    "session-expiry": {"zookeeper.session.timeout.ms", "replica.lag.time.max.ms"},
    "unclean-election": {"unclean.leader.election.enable"},
    "zombie-controller-fenced": set(),  # it contrasts what the zombie orders
}
READ_AT_START = {"zookeeper.session.timeout.ms", "replica.lag.time.max.ms"}
PATIENCE_US = 90_000_000  # a broker without power does not hang up: who asks it waits, then asks another
FORK_JS = Path(__file__).parents[2] / "static" / "model" / "fork.js"
SCRIPT = """
import { readFileSync } from "node:fs";
const { commandsOf, subjectsOf } = await import(process.argv[1]);
const { state, rows } = JSON.parse(readFileSync(0, "utf8"));
const commands = commandsOf({}, state, "orders", { rows });
process.stdout.write(JSON.stringify({ subjects: subjectsOf(state), commands }));
"""


def _set_by(steps: Iterable[dict[str, Any]]) -> Iterable[dict[str, str]]:
    for step in steps:
        if step.get("do") in ("set_client", "alter_config"):
            subject = f"client:{step['name']}" if step["do"] == "set_client" else f"topic:{step['topic']}"
            yield from (_row(subject, name, value) for name, value in step["set"].items())


def _row(subject: str, name: str, value: Any) -> dict[str, str]:
    """As it is typed into the dialog; nothing stands for the default."""
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return {"subject": subject, "name": name, "value": text}


def contrasts(document: dict[str, Any]) -> list[dict[str, str]]:
    """Rows of the dialog: what the forks of a lesson set, and what its variants have otherwise."""
    found: list[dict[str, str]] = []
    for one in (document, *(document.get("variants") or {}).values()):
        found += _set_by((one.get("fork") or {}).get("steps", ()))
    for one in (document.get("variants") or {}).values():
        for topic in one.get("topics", ()):
            found += [_row(f"topic:{topic['name']}", *each) for each in topic.get("configs", {}).items()]
        for client in one.get("clients", ()):
            found += [_row(f"client:{client['name']}", *each) for each in client.get("settings", {}).items()]
        found += [_row("brokers", *each) for each in one.get("cluster", {}).get("settings", {}).items()]
    return [row for index, row in enumerate(found) if row not in found[:index]]


def at_moment(name: str, tmp_path: Path) -> tuple[World, RunSpec]:
    """The world of a lesson, right behind the event that mattered."""
    result = run_once(name)
    assert result.moment is not None
    spec = run_from_dict(read_facts(result.directory)["spec"])
    world, files = build_world(spec), RunDirectory(tmp_path / "again")
    files.attach(world)
    work = Reexecution(world, result.directory / INPUTS, files.recorder, result.moment["seq"])
    while not work.advance(1.0):
        pass
    return world, spec


def start_brokers(world: World) -> None:
    """Where nobody is left to be asked, they have to be started first."""
    brokers = [name for name, node in world.nodes.items() if name.startswith("broker-")]
    if all(world.nodes[name].state == STOPPED for name in brokers):
        for name in brokers:
            world.inject(Command({"do": "restart", "broker": int(name.removeprefix("broker-"))}))
        world.run_until(world.now_us + 20_000_000)


def dialog(node: str, state: dict[str, Any], rows: list[dict[str, str]]) -> dict[str, Any]:
    """What the page's module makes of rows."""
    given = json.dumps({"state": state, "rows": rows})
    call = [node, "--input-type=module", "-e", SCRIPT, FORK_JS.as_uri()]
    done = subprocess.run(call, input=given, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def in_effect(world: World, row: dict[str, str]) -> bool:
    kind, _, which = row["subject"].partition(":")
    settings = client_of(world, which).settings if kind == "client" else overrides(world, which)
    return settings.get(row["name"]) == (row["value"] or None)


@pytest.mark.parametrize("name", list(LESSONS))
def test_the_setting_of_a_lesson_can_be_chosen_at_its_moment(
    name: str, tmp_path: Path, require_program: Callable[[str], str]
) -> None:
    rows = contrasts(grammar.load(name).document)
    assert {row["name"] for row in rows} == LESSONS[name]
    if not rows:
        return
    node = require_program("node")
    world, spec = at_moment(name, tmp_path)
    start_brokers(world)
    state = json.loads(json.dumps(observe(world, spec)))
    for row in rows:
        offered = dialog(node, state, [row])
        assert row["subject"] in offered["subjects"] and offered["commands"]
        for command in offered["commands"]:
            if row["name"] in READ_AT_START:
                with pytest.raises(CommandError, match="is read when a broker starts"):
                    inspect(world, "trial", json.dumps(command))
                continue
            inspect(world, "trial", json.dumps(command))
            item = Command(command)
            world.inject(item)
            until = world.now_us + PATIENCE_US
            while not in_effect(world, row) and world.now_us < until:
                world.run_until(world.now_us + 500_000)
            assert item.result and item.result["ok"], item.result
            assert in_effect(world, row), row
