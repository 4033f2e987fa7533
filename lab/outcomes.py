"""How the cluster has answered what was asked of it on behalf of a person: topics, settings, records by hand.

    submit create_topic --> pump.command --> {"ok", "id": 4}     at once: the request is on its way
    ...                     admin.results[4]                     some events later
    <-- {"ok": false, "problem": {"code": "kafka_says", ...}, "code": "TOPIC_ALREADY_EXISTS", "place": "topic"}

A broker says in words which part of a request it does not like; the code, and for a setting its name in these words,
lead back to the key of the command.
"""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import Future
from typing import Any

from broker_core.clients.admin import AdminMachine
from broker_core.clients.admin_requests import refused_with
from broker_core.kernel.names import OPERATOR
from broker_core.kernel.world import World

PATIENCE_S = 3.0
Answer = Future[dict[str, Any]]


KEYS = {
    "TOPIC_ALREADY_EXISTS": "topic", "INVALID_TOPIC_EXCEPTION": "topic", "UNKNOWN_TOPIC_OR_PARTITION": "topic",
    "INVALID_PARTITIONS": "partitions", "INVALID_REPLICATION_FACTOR": "replication_factor",
    "INVALID_REPLICA_ASSIGNMENT": "assignment", "MESSAGE_TOO_LARGE": "value", "INVALID_REQUIRED_ACKS": "acks",
    "NON_EMPTY_GROUP": "group", "INVALID_GROUP_ID": "group",
}  # fmt: skip
OF_A_PARTITION = {
    "UNKNOWN_TOPIC_OR_PARTITION": "partition", "INVALID_REPLICA_ASSIGNMENT": "replicas", "OFFSET_OUT_OF_RANGE": "before"
}  # fmt: skip
"""The same for a command about one partition of a topic, where it has that key."""
OF_ITS_OWN = {
    "NOT_LEADER_OR_FOLLOWER": "to", "CORRUPT_MESSAGE": "damaged", "UNSUPPORTED_VERSION": "version",
    "LOG_DIR_NOT_FOUND": "directory", "KAFKA_STORAGE_ERROR": "directory", "REPLICA_NOT_AVAILABLE": "partition",
}  # fmt: skip
"""The same for a key that only one kind of command has, or a request that is sent to be refused."""


def place_of(command: dict[str, Any], code: str, message: str) -> str:
    """The key of a command that the cluster has refused it for; `do` when it is none of them."""
    for holder in ("set", "configs"):
        for name in command.get(holder) or {}:
            if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", message):
                return f"{holder}.{name}"
    wrong = OF_ITS_OWN.get(code)
    if wrong in command:
        return str(wrong)
    found = OF_A_PARTITION.get(code) if "partition" in command else None
    return found if found in command else KEYS.get(code, "do")


def outcome(world: World, number: int, command: dict[str, Any]) -> dict[str, Any] | None:
    """What is to be added to the answer to a command; None while it is open."""
    machine = world.nodes[OPERATOR].machine
    found = machine.results.get(number) if isinstance(machine, AdminMachine) else None
    if found is None:
        return None
    if found["kind"] != "ok":
        why = found.get("problem") or refused_with(found["error"], found["message"], command)
        return {"ok": False, "problem": why, "code": found["error"],
                "place": place_of(command, found["error"], found["message"])}  # fmt: skip
    return {key: found[key] for key in ("partition", "offset") if found.get(key, -1) >= 0}


class Outcomes:
    """Answers that wait for the cluster. Lives on the world's thread."""

    def __init__(self, world: World, loop: asyncio.AbstractEventLoop) -> None:
        self.world = world
        self.loop = loop
        self.waiting: dict[int, tuple[Answer, dict[str, Any], dict[str, Any]]] = {}

    def add(self, answer: Answer, command: dict[str, Any], result: dict[str, Any], stands: bool) -> None:
        """`result` is what the command returned; with an `id` it is not the end of it."""
        if "id" not in result:
            answer.set_result(result)
            return
        self.waiting[result["id"]] = (answer, command, result)
        self.loop.call_later(PATIENCE_S, self._late, result["id"])
        self.look(stands)

    def look(self, stands: bool) -> None:
        """Answer those whose outcome is known; all of them, as pending, while time `stands`."""
        for number, (answer, command, result) in list(self.waiting.items()):
            found = outcome(self.world, number, command)
            if found is not None or stands:
                del self.waiting[number]
                answer.set_result({**result, **({"pending": True} if found is None else found)})

    def _late(self, number: int) -> None:
        if number in self.waiting:
            answer, _, result = self.waiting.pop(number)
            answer.set_result({**result, "pending": True})
