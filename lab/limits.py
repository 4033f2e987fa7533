"""What one lab of many may take, so that the others of its server have something, too.

| limit | of what | what is more is refused |
|---|---|---|
| `brokers` | the live cluster | when the lab is begun, and `add_broker`, `add_machine` |
| `records` | a second, that all built-in producers of it are to send together | `start_client`, `set_client` |
| `disk_mb` | its directory: disks, recorded runs | while it is over: whatever begins something |
| `memory_mb` | its worlds with all that they remember | while it is over: whatever begins something |
| `processor_percent` | a core, for its thread | nothing: its clock falls behind (`broker_core.drivers.share`) |

A command is looked at before it becomes part of the run, as ports are (`newcomers`): a limit is the server's, and a run
that was recorded under it can be executed again anywhere. What a lab takes of disk and memory, and what becomes of one
that takes more, is in `holding`. 0 is no limit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from broker_core.kernel.names import is_broker, is_machine
from broker_core.kernel.node import STOPPED
from broker_core.kernel.problems import Problem, problem
from broker_core.kernel.world import World
from lab.clusters.checks import SpecError
from lab.clusters.client_spec import ClientSpec, changed_client, client_from_dict
from lab.clusters.spec import RunSpec

PRODUCER = "producer"
MB = 1_000_000
BEGIN = ("start_client", "add_broker", "add_controller", "create_topic", "add_partitions", "produce")
"""What is refused while a lab has taken more than it may."""


@dataclass(slots=True, frozen=True)
class Limits:
    """Of one lab."""

    brokers: int = 0
    records: int = 0
    disk_mb: int = 0
    memory_mb: int = 0
    processor_percent: int = 0

    def within(self, others: Limits) -> Limits:
        """Each the smaller one of both, where both are limits."""
        ours, theirs = asdict(self), asdict(others)
        return Limits(**{name: min(filter(None, (ours[name], theirs[name])), default=0) for name in ours})

    def of_a_file(self, usual: int) -> int:
        """Bytes of each of the three files that a live run is recorded in: together at most half of the disk. They
        stay as long as the run, so a lab in which they filled it would find room no more."""
        return min(usual, self.disk_mb * MB // 6) if self.disk_mb else usual

    def check(self, spec: RunSpec) -> None:
        """Raises SpecError for a cluster that is too large to begin with."""
        if self.brokers and len(spec.cluster.brokers) > self.brokers:
            raise SpecError(("cluster", "brokers"), problem("limit_brokers", most=self.brokers))

    def refused(self, world: World, command: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a command that asks for too much; None for all others. What is wrong with it otherwise is left
        to the world."""
        if command.get("do") in ("add_broker", "add_machine") and self.brokers:
            if sum(is_broker(name) or is_machine(name) for name in world.nodes) >= self.brokers:
                return _answer(problem("limit_brokers", most=self.brokers), "do")
        elif command.get("do") in ("start_client", "set_client") and self.records:
            asked = self._asked(world, command)
            if asked > self.records:
                place = "rate" if command["do"] == "start_client" else "set.rate"
                return _answer(problem("limit_records", most=self.records, n=round(asked)), place)
        return None

    def _asked(self, world: World, command: dict[str, Any]) -> float:
        """Records a second of all producers once this is done; 0 for what adds none."""
        operator: Any = world.operator
        known: dict[str, ClientSpec] = operator.clients
        name = str(command.get("name"))
        try:
            changed = _changed(known, name, command)
        except SpecError:
            return 0.0
        if changed is None or changed.kind != PRODUCER:
            return 0.0
        producers = (one for one in known.values() if one.name != name and one.kind == PRODUCER)
        return changed.rate + sum(one.rate for one in producers if _sends(world, one.name))


UNLIMITED = Limits()


def _changed(known: dict[str, ClientSpec], name: str, command: dict[str, Any]) -> ClientSpec | None:
    if command["do"] == "set_client":
        return changed_client(known[name], command.get("set") or {}, ("set",)) if name in known else None
    given = {key: value for key, value in command.items() if key != "do"}
    return client_from_dict(given, ()) if len(given) > 1 else known.get(name)


def _sends(world: World, name: str) -> bool:
    """Whether new records come of this producer. One that is closing only sends off what it has."""
    node: Any = world.nodes.get(name)
    return node is not None and node.state != STOPPED and not node.machine.closing


def _answer(what: Problem, place: str) -> dict[str, Any]:
    return {"ok": False, "problem": what, "place": place}
