"""Messages under way between the processes of a world: which there are, and the bytes that they would be.

    flights        {"from", "to", "kind", "api", "version", "correlation", "at", "sent", "brings"}, by arrival
    Wanted         which message: the event that sent or received it, its ends, API, version, correlation id
    look           `message_bytes.describe`, and `how`: recorded (as it came) or encoded (by our codec)

`kind`: request, response, closed (the end of a connection), other (the coordination tree's own messages).
`brings`: where an answer to a follower makes its logs end, [{"topic", "partition", "until"}].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.kernel.errors import CommandError, Refusal, StorageError
from broker_core.kernel.in_flight import UnderWay, under_way
from broker_core.kernel.names import cluster_of, is_broker
from broker_core.kernel.problems import problem
from broker_core.kernel.storage import read_all
from broker_core.kernel.world import World
from broker_core.records.errors import RecordsError
from broker_core.records.header import read_headers
from broker_core.replication.fetcher import records_of
from broker_core.wire import messages as m
from broker_core.wire.apis import api_name
from broker_core.wire.codec import encode_request, encode_response
from broker_core.wire.errors import WireError
from broker_core.wire.rpc import Request, Response
from lab.checkers.message_bytes import APIS, describe
from lab.clusters.observe import partitions_of

SHOWN = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """One message: `seq` is the event that sent it (received it, from outside), `answer` tells a response."""

    seq: int
    source: str
    dest: str
    api: str
    version: int
    correlation: int
    answer: bool

    @property
    def outside(self) -> bool:
        """Whether one end is no process of the world: its connection's number stands for it."""
        return self.source.isdigit() or self.dest.isdigit()


class NoMessage(Refusal):
    """It cannot be shown."""


# -- now ------------------------------------------------------------------------------------
def flights(world: World) -> list[dict[str, Any]]:
    """Requests, answers and ends of connections under way, the first to arrive first; none of neighbours."""
    between = [one for one in under_way(world) if one.source != one.dest]
    found = [one for one in between if not cluster_of(one.source) and not cluster_of(one.dest)][:SHOWN]
    versions = _versions(world) if any(isinstance(one.message, Response) for one in found) else {}
    return [_flight(one, versions) | _brought(world, one) for one in found]


def _versions(world: World) -> dict[tuple[str, str, str, int], int]:
    """(client, broker, API, correlation id) -> version, of the requests that the journal still knows."""
    return {
        (node, params["to"], params["api"], params["correlation"]): params["version"]
        for _, _, node, code, _, params in world.journal.tail if code == "request_sent"
    }  # fmt: skip


def _flight(one: UnderWay, versions: dict[tuple[str, str, str, int], int]) -> dict[str, Any]:
    message = one.message
    facts: dict[str, Any] = {"from": one.source, "to": one.dest, "at": one.at_us, "sent": one.sent, "kind": "other"}
    if isinstance(message, Request):
        api = api_name(message.api_key)
        facts |= {"kind": "request", "api": api, "version": message.api_version, "correlation": message.correlation_id}
    elif isinstance(message, Response):
        api = type(message.body).__name__.removesuffix("Response")
        version = versions.get((one.dest, one.source, api, message.correlation_id))
        facts |= {"kind": "response", "api": api, "version": version, "correlation": message.correlation_id}
    elif message is None:
        facts |= {"kind": "closed"}
    else:
        facts |= {"api": type(message).__name__}
    return facts


def _brought(world: World, one: UnderWay) -> dict[str, Any]:
    node, body = world.nodes.get(one.dest), getattr(one.message, "body", None)
    if node is None or not is_broker(one.dest) or not isinstance(body, m.FetchResponse):
        return {}
    answers = [(answered, data) for answered in body.responses for data in answered.partitions if data.records]
    if not answers:  # as of nearly all
        return {}
    names = {replica.topic_id: topic for (topic, _), replica in partitions_of(node).items()}
    found = []
    for answered, data in answers:
        topic, until = answered.topic or names.get(answered.topic_id), _end_of(data)
        if topic and until is not None:
            found.append({"topic": topic, "partition": data.partition_index, "until": until})
    return {"brings": found} if found else {}


def _end_of(data: Any) -> int | None:
    """The offset behind the last whole batch."""
    try:
        *_, last = (header for part in records_of(data) for header in read_headers(part))
    except (StorageError, RecordsError, ValueError):
        return None
    return last.next_offset


# -- bytes ----------------------------------------------------------------------------------
def look(world: World, wanted: Wanted) -> dict[str, Any] | None:
    """The message if it is under way in this world now."""
    for one in under_way(world, wanted.source, wanted.dest):
        if _is(one.message, wanted):
            return described(wanted, _encoded(one.message, wanted), "encoded")
    return None


def _is(message: Any, wanted: Wanted) -> bool:
    if wanted.answer:
        return (
            isinstance(message, Response) and message.correlation_id == wanted.correlation
            and type(message.body).__name__ == f"{wanted.api}Response"
        )  # fmt: skip
    return (
        isinstance(message, Request) and message.correlation_id == wanted.correlation
        and message.api_key == APIS.get(wanted.api)
    )  # fmt: skip


def _encoded(message: Request | Response, wanted: Wanted) -> bytes:
    key = APIS[wanted.api]
    try:
        if isinstance(message, Request):
            named = message.correlation_id, message.client_id
            return read_all(encode_request(key, message.api_version, *named, message.body))
        return read_all(encode_response(key, wanted.version, message.correlation_id, message.body))
    except (WireError, KeyError) as error:
        raise NoMessage(problem("not_as_bytes", api=wanted.api, why=str(error))) from None


def described(wanted: Wanted, data: bytes, how: str) -> dict[str, Any]:
    return {
        "from": wanted.source, "to": wanted.dest, "api": wanted.api, "version": wanted.version,
        "correlation": wanted.correlation, "answer": wanted.answer, "how": how,
        **describe(APIS[wanted.api], wanted.version, wanted.answer, data),
    }  # fmt: skip


def wanted_of(given: dict[str, Any]) -> Wanted:
    """From a question; raises CommandError naming what is wrong."""
    for key, kind in (("seq", int), ("from", str), ("to", str), ("api", str), ("version", int), ("correlation", int)):
        if not isinstance(given.get(key), kind) or isinstance(given.get(key), bool):
            raise CommandError(problem("expected_kind", key=key, kind="number" if kind is int else "text"), key)
    if given["api"] not in APIS:
        raise CommandError(problem("no_request", api=given["api"]), "api")
    ends = given["seq"], given["from"], given["to"]
    return Wanted(*ends, given["api"], given["version"], given["correlation"], bool(given.get("answer")))
