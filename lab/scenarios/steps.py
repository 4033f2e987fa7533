"""Steps: when something is done, or looked at.

| key | the step comes |
|---|---|
| at: 5s | so long after the start of the clients |
| after: 500ms | so long after the step before |
| when: {isr_of: orders-0, is: 1} | as soon as it is so, at most `within` (60 s) later |

`do:` is a command of the vocabulary. `check: {leader_of: orders-0, is: 2}` does nothing: it says what must
be so at that moment, and a run in which it is not has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from broker_core.kernel.names import in_cluster
from broker_core.kernel.problems import problem
from broker_core.metadata.topic_names import is_internal
from lab.clusters import checks, eras
from lab.clusters.checks import Place, SpecError
from lab.clusters.joining import new_broker
from lab.clusters.brokers import ClusterSpec
from lab.clusters.client_spec import changed_client, client_from_dict
from lab.clusters.neighbour_spec import ANY
from lab.clusters.spec import RunSpec, new_controller
from lab.clusters.vocabulary import check_command
from lab.scenarios.conditions import Condition, condition
from lab.scenarios.times import duration_us

STEP_KEYS = ("at", "after", "when", "within")
WITHIN_US = 60_000_000
OF_TOPICS = (
    "delete_topic", "add_partitions", "elect_leaders", "reassign", "cancel_reassignment", "delete_records",
    "verify_reassignment", "move_replica", "reset_offsets", "delete_offsets",
)  # fmt: skip
"""Commands about a topic that must be there by then."""


@dataclass(slots=True)
class Step:
    """When, and which command. Exactly one of `at_us`, `after_us`, `when` counts."""

    command: dict[str, Any]
    at_us: int | None = None
    after_us: int | None = None
    when: Condition | None = None
    within_us: int = WITHIN_US
    check: Condition | None = None


def read_steps(value: Any, place: Place, follow: bool = False) -> list[Step]:
    """A list of steps. `follow`: one that does not say when comes right behind the one before."""
    return [_step(one, (*place, index), follow) for index, one in enumerate(checks.items(value, place))]


def _step(value: Any, place: Place, follow: bool) -> Step:
    given = checks.mapping(value, place)
    step = _what(given, place)
    found = [key for key in ("at", "after", "when") if key in given]
    if len(found) != 1 and not (follow and not found):
        raise SpecError(place, problem("one_subject", known=["at", "after", "when"], n=len(found)))
    if "at" in given:
        step.at_us = duration_us(given["at"], (*place, "at"))
    elif "when" in given:
        step.when = condition(given["when"], (*place, "when"))
    else:
        step.after_us = duration_us(given.get("after", 0), (*place, "after"))
    if "within" in given:
        step.within_us = duration_us(given["within"], (*place, "within"))
    return step


def _what(given: dict[str, Any], place: Place) -> Step:
    """A command, or a condition that must hold."""
    if "check" in given:
        checks.mapping(given, place, [*STEP_KEYS, "check"])
        step = Step({}, check=condition(given["check"], (*place, "check")))
        if step.check is not None and step.check.compared is None:
            raise SpecError((*place, "check", "is"), problem("no_comparison"))
        return step
    if "do" not in given:
        raise SpecError(place, problem("missing_key", key="do"))
    return Step(check_command({key: one for key, one in given.items() if key not in STEP_KEYS}, place))


def _check_broker(given: int, cluster: ClusterSpec, place: Place) -> None:
    brokers = [broker.id for broker in cluster.brokers]
    if given not in brokers:
        expected = checks.expected(str(given), [str(one) for one in brokers])
        raise SpecError(place, problem("no_broker_of", broker=given, expected=expected))


def _check_controller(command: dict[str, Any], cluster: ClusterSpec, place: Place) -> None:
    given, known = command.get("controller"), cluster.controller_nodes() if cluster.is_kraft else {}
    if command["do"] == "add_controller" and given not in known:
        cluster.added.append(new_controller(given, cluster, place))
    elif given not in known:
        expected = checks.expected(str(given), [str(one) for one in known])
        raise SpecError(place, problem("no_controller_of", controller=given, expected=expected))


def check_names(steps: list[Step], spec: RunSpec, place: Place, before: Sequence[Step] = ()) -> None:
    """Commands that name a broker, a client or a topic name one that can be there, and settings that a client has.
    `before`: steps that have been checked, and are carried out first."""
    cluster = replace(spec.cluster, brokers=[*spec.cluster.brokers], added=[*spec.cluster.added])
    clients = {client.name: client for client in spec.clients}
    topics = [topic.name for topic in spec.topics]
    theirs = [in_cluster(one.name, topic.name) for one in cluster.neighbours for topic in one.topics]
    for index, step in enumerate([*before, *steps], -len(before)):
        command, at = step.command, (*place, index)
        name = command.get("do")
        if name == "create_topic":
            topics.append(command["topic"])
        elif name == "add_broker":
            cluster.brokers.append(new_broker(command, cluster, at))
        elif name in ("add_controller", "remove_controller"):
            _check_controller(command, cluster, (*at, "controller"))
        elif name == "start_client" and len(command) > 2:
            given = {key: one for key, one in command.items() if key != "do"}
            clients[command["name"]] = client_from_dict(given, at, cluster.preset, eras.clients(cluster.era))
        elif name in ("start_client", "stop_client", "set_client"):
            checks.choice(command["name"], (*at, "name"), clients)
            if name == "set_client":
                clients[command["name"]] = changed_client(clients[command["name"]], command["set"], (*at, "set"))
        elif name in OF_TOPICS and "topic" in command:
            checks.choice(command["topic"], (*at, "topic"), topics)
        if "broker" in command:
            _check_broker(command["broker"], cluster, (*at, "broker"))
        for number, broker in enumerate(command.get("replicas", ())):
            _check_broker(broker, cluster, (*at, "replicas", number))
        if "controller" in command and name not in ("add_controller", "remove_controller"):
            known = [ANY, *(one.name for one in cluster.neighbours)]
            checks.choice(command["controller"], (*at, "controller"), known)
        for key in ("leader_of", "follower_of"):
            if key in command:
                topic = command[key].rpartition("-")[0]
                if not is_internal(topic):
                    checks.choice(topic, (*at, key), [*topics, *theirs])
