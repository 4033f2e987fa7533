"""Executes a golden script: prose, commands, `---`, and what the cluster told.

    # Prose is for the reader.
    cluster {brokers: 3, preset: teaching}      builds the world and waits until it has formed; with `record_level:
                                                details` it tells what goes on within a broker, too
    topic {name: orders, assignment: [[1, 2]]}  creates a topic and waits for its leaders
    show leader_elected became_leader           what is told from here on; `code[param=value]` picks some
    kill {leader_of: orders-0}                  any command of the lab's vocabulary
    wait {leader_of: orders-0, is: changed}     until a condition holds, one minute at most
    run 500ms                                   lets time pass
    print hw_of orders-0                        a figure
    ---
      2.141 broker-1         process ends: crash

The told lines are the journal's own rendering, with the seconds since the cluster had formed.
"""

from __future__ import annotations

from typing import Any

import yaml

from broker_core.kernel.events import REGISTRY
from broker_core.kernel.inputs import Command
from broker_core.kernel.journal import Row
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.clusters.vocabulary import KINDS
from lab.scenarios.conditions import condition, value_of
from lab.scenarios.expectations import event_filter
from lab.scenarios.moments import matches
from lab.scenarios.times import duration_us
from lab.truth import truth_of

GRID_US = 1_000
LIMIT_US = 60_000_000


class Narrator:
    """One script's world and what it tells."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.began_us = 0
        self.rows: list[Row] = []
        self.filters: list[tuple[str, dict[str, str]]] = []
        self.printed: list[str] = []

    def block(self, commands: list[str]) -> list[str]:
        """Carry commands out; the lines that were told."""
        self.rows.clear()
        told: list[str] = []
        for line in commands:
            word, _, rest = line.partition(" ")
            getattr(self, f"_{word}", self._command)(*([rest.strip()] if word not in KINDS else [rest.strip(), word]))
            told += self._told()
        return told

    def _told(self) -> list[str]:
        rows, self.rows = [row for row in self.rows if self._is_shown(row)], []
        lines = [f"{(t - self.began_us) / 1e6:9.3f} {node:15} {REGISTRY[code].line(params)}" for _, t, node, code, _, params in rows]
        printed, self.printed = self.printed, []
        return lines + printed

    def _is_shown(self, row: Row) -> bool:
        return any(row[3] == code and matches(row, where) for code, where in self.filters)

    # -- commands ---------------------------------------------------------------------------
    def _cluster(self, rest: str) -> None:
        given = yaml.safe_load(rest)
        level = {name: given.pop(name) for name in ("record_level",) if name in given}
        spec = run_from_dict({"cluster": given, "seed": 7, **level})
        self.world = build_world(spec)
        self.world.journal.watchers.append(self.rows_append)
        wanted = sorted(broker.id for broker in spec.cluster.brokers)
        self._until(lambda: truth_of(self.world).controller_id() is not None and truth_of(self.world).registered() == wanted)
        self.began_us = self.world.now_us

    def rows_append(self, row: Row) -> None:
        self.rows.append(row)

    def _topic(self, rest: str) -> None:
        given = yaml.safe_load(rest)
        name = given.pop("name")
        self._inject({"do": "create_topic", "topic": name, **given})
        self._until(lambda: self._is_led(name))

    def _is_led(self, name: str) -> bool:
        states = truth_of(self.world).topics().get(name, {}).values()
        nodes = self.world.nodes
        return bool(states) and all(
            state["leader"] > 0 and observe.partitions_of(nodes[f"broker-{state['leader']}"]) for state in states
        )

    def _show(self, rest: str) -> None:
        self.filters = [event_filter(one) for one in rest.split()]

    def _run(self, rest: str) -> None:
        self.world.run_until(self.world.now_us + duration_us(rest, ("run",)))

    def _wait(self, rest: str) -> None:
        wanted = condition(yaml.safe_load(rest), ("wait",))
        before = wanted.value(self.world)
        self._until(lambda: wanted.holds(self.world, before))

    def _print(self, rest: str) -> None:
        subject, _, target = rest.partition(" ")
        self.printed.append(f"          {rest}: {value_of(self.world, subject, target or 'any')}")

    def _command(self, rest: str, name: str) -> None:
        self._inject({"do": name, **(yaml.safe_load(rest) if rest else {})})

    def _inject(self, command: dict[str, Any]) -> None:
        item = Command(command)
        self.world.inject(item)
        self.world.run_due()
        assert item.result["ok"], item.result

    def _until(self, holds: Any) -> None:
        end = self.world.now_us + LIMIT_US
        while not holds():
            assert self.world.now_us < end, "it did not come true within a minute"
            following = self.world.next_time_us() or end
            at = max(following, self.world.now_us + GRID_US)
            self.world.run_until(min(end, -(-at // GRID_US) * GRID_US))


def execute(text: str) -> str:
    """The script with its output as it is now."""
    narrator = Narrator()
    out: list[str] = []
    commands: list[str] = []
    telling = False
    for line in text.rstrip("\n").split("\n"):
        if line == "---":
            told = narrator.block(commands)
            out += ["---", *told]
            commands, telling = [], True
        elif telling and line:
            continue
        else:
            telling = False
            out.append(line)
            if line and not line.startswith("#"):
                commands.append(line)
    return "\n".join(out) + "\n"
