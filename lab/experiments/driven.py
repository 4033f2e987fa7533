"""A simulated world that somebody drives by commands: everything that is done to it is recorded.

A scenario's run decides by its steps (`run`), a swarm by chance (`lab.faults.swarm`), a test by its lines
(`lab.testing`). Whoever it is injects commands at a virtual time, so that the run can be executed again without him.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from broker_core.kernel.errors import CommandError, Refusal
from broker_core.kernel.inputs import Command
from broker_core.kernel.names import OPERATOR, broker_node
from broker_core.kernel.problems import Problem, problem
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import StorageFactory, build_world
from lab.clusters.charge import charge_of
from lab.clusters.spec import RunSpec
from lab.clusters.topic_spec import TopicSpec
from lab.experiments.directory import RunDirectory
from lab.truth import truth_of
from lab.truth.port import State

GRID_US = 1_000
FORM_US = 120_000_000
AT_ONCE = 5_000


class RunError(Refusal):
    """The run could not be carried out: the cluster did not form, what a step waits for did not come true."""


class Driven:
    """`world` as `spec` describes it; `files` records what is done to it."""

    def __init__(self, spec: RunSpec, files: RunDirectory, storage_factory: StorageFactory) -> None:
        self.spec = copy.deepcopy(spec)  # the world adds the brokers that join it
        self.files = files
        self.world: World = build_world(self.spec, storage_factory)
        self._restless: list[tuple[str, int]] = []
        """The partitions that did not rest when all were looked at last: of ten thousand they are asked first."""
        self._made: list[TopicSpec] = []
        self._wanted: list[tuple[str, int]] = []
        self._led = 0
        """So many of them were seen with a leader, one after the other: of ten thousand the next one is asked first."""

    def _run_until(self, time_us: int) -> None:
        """As fast as it goes."""
        self.world.run_until(time_us)

    def _command(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out and record; what came of it. Raises CommandError."""
        item = Command(command)
        self.files.recorder.record(self.world, item)
        self.world.inject(item)
        self.world.run_due()
        result = item.result or {}
        if not result.get("ok"):
            raise CommandError(result["problem"], result.get("place", ""))
        return result

    def _inject(self, command: dict[str, Any], must: bool = True) -> dict[str, Any]:
        """The same, of one that takes refusals in its own way."""
        return self._command(command)

    def _wait(self, what: Any, limit_us: int, *arguments: Any) -> bool:
        """Run until `what(*arguments)` holds, looked at on a grid of virtual time."""
        world = self.world
        until = world.now_us + limit_us
        while not what(*arguments):
            if world.now_us >= until:
                return False
            following = world.next_time_us()
            at = until if following is None else max(following, world.now_us + GRID_US)
            self._run_until(min(until, -(-at // GRID_US) * GRID_US))
        return True

    def _form(self) -> None:
        """Until the cluster is there, with the topics of its description. Raises RunError."""
        if not self._wait(self._formed, FORM_US):
            raise RunError(problem("not_formed"))
        for topics in _portions(self.spec.topics):
            for topic in topics:
                self._inject(creating(topic))
                self._made.append(topic)
                self._wanted += [(topic.name, number) for number in range(topic.partitions)]
            if not self._wait(self._all_led, FORM_US):
                raise RunError(problem("no_topics", what=self._admin_errors()))
        if not self._wait(self._neighbours_ready, FORM_US):
            raise RunError(problem("neighbours_not_formed"))

    def _neighbours_ready(self) -> bool:
        charge = charge_of(self.world)
        return charge is None or charge.neighbourhood.ready()

    def _formed(self) -> bool:
        return formed(self.world, self.spec)

    def _all_led(self) -> bool:
        truth = truth_of(self.world)
        while self._led < len(self._wanted):
            topic, number = self._wanted[self._led]
            if not _is_led(self.world, topic, number, truth.partition_state(topic, number)):
                return False
            self._led += 1
        return all_led(self.world, self._made)

    def _at_rest(self) -> bool:
        """Every broker is registered, every replica in the ISR, every high watermark at the end of the log."""
        if not self._formed():
            return False
        truth = truth_of(self.world)
        while self._restless:
            state = truth.partition_state(*self._restless[-1])
            if state is not None and not self._rests(*self._restless[-1], state):
                return False
            self._restless.pop()
        self._restless = [
            (topic, number) for topic, partitions in truth.topics().items() for number, state in partitions.items()
            if not self._rests(topic, number, state)
        ]  # fmt: skip
        return not self._restless

    def _rests(self, topic: str, number: int, state: State) -> bool:
        marks = observe.log_marks(self.world, topic, number)
        ends = {marks[broker]["leo"] for broker in state["replicas"] if broker in marks}
        if len(state["isr"]) < len(state["replicas"]) or len(ends) > 1 or state["leader"] not in marks:
            return False
        return marks[state["leader"]]["hw"] >= min(ends)

    def _admin_errors(self) -> list[Problem]:
        machine: Any = self.world.nodes[OPERATOR].machine
        return [one["problem"] for one in machine.results.values() if one.get("problem")] or [problem("no_answer")]


def _portions(topics: list[TopicSpec]) -> Iterator[list[TopicSpec]]:
    """All of them at once, unless they have many thousands of partitions: making these may take longer than a request
    of their operator has, and would be refused when it is sent again."""
    portion: list[TopicSpec] = []
    for topic in topics:
        portion.append(topic)
        if sum(one.partitions for one in portion) >= AT_ONCE:
            yield portion
            portion = []
    yield portion


def creating(topic: TopicSpec) -> dict[str, Any]:
    """The command that makes a topic of a description."""
    command: dict[str, Any] = {
        "do": "create_topic", "topic": topic.name, "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
    }  # fmt: skip
    for key in ("configs", "assignment"):
        if getattr(topic, key):
            command[key] = getattr(topic, key)
    return command


def formed(world: World, spec: RunSpec) -> bool:
    """There is a controller, and every broker is registered. With an ensemble every broker has heard of all of them,
    too: what its leader has committed comes to the controller by way of another server."""
    wanted = sorted(broker.id for broker in spec.cluster.brokers)
    if truth_of(world).controller_id() is None or truth_of(world).registered() != wanted:
        return False
    machines: list[Any] = [node.machine for _, node in observe.brokers(world)]
    return spec.cluster.ensemble == 1 or all(one is None or sorted(one.cache.brokers) == wanted for one in machines)


def all_led(world: World, topics: list[TopicSpec]) -> bool:
    """Every partition that should be there has a leader that serves it."""
    there = truth_of(world).topics()
    if any(len(there.get(topic.name, {})) < topic.partitions for topic in topics):
        return False
    return all(_is_led(world, topic, number, state) for topic in there for number, state in there[topic].items())


def _is_led(world: World, topic: str, number: int, state: State | None) -> bool:
    node = None if state is None else world.nodes.get(broker_node(state["leader"]))
    return node is not None and (topic, number) in observe.partitions_of(node)
