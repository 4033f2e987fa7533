"""Who believed what: rows of the table `metadata`, without the run.

`timelines.BELIEFS` says it as expressions of SQL; here the same, as functions of an event's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lab.analytics.by_run.figures import joined, listed, said
from lab.analytics.by_run.recording import Recording
from lab.analytics.timelines import CACHED

Get = Callable[[str], Any]
Belief = tuple[str, str | None, str | None, Any]
"""(kind, subject, belief, epoch)."""


def _place(get: Get) -> str | None:
    return joined(get("topic"), "-", get("partition"))


def _offsets(get: Get) -> str | None:
    return joined("__consumer_offsets-", get("partition"))


def _broker(get: Get) -> str | None:
    return joined("broker ", get("broker"))


def _session(word: str) -> Callable[[Get], Belief]:
    return lambda get: ("session", get("session"), joined(word, ", of ", get("owner")), None)


def _created(get: Get) -> Belief:
    of = "" if get("ephemeral") is None else f", of {get('ephemeral')}"
    return "znode", get("path"), f"exists{of}", 0


def _setting(get: Get) -> Belief:
    value = "default" if get("value") is None else get("value")
    return ("topic", joined(get("resource"), " ", get("name") or ""), joined(get("key"), " = ", value), None)


_BELIEFS: dict[str, Callable[[Get], Belief]] = {
    "znode_created": _created,
    "znode_changed": lambda get: ("znode", get("path"), joined("version ", get("version")), get("version")),
    "znode_deleted": lambda get: ("znode", get("path"), "gone", None),
    "session_opened": _session("open"), "session_expired": _session("expired"), "session_closed": _session("closed"),
    "controller_elected": lambda get: ("controller", _broker(get), "controller", get("epoch")),
    "controller_resigned": lambda get: (
        "controller", _broker(get), joined("not controller: ", get("reason")), get("epoch")),
    "broker_registered": lambda get: ("broker", _broker(get), "registered", None),
    "controller_loaded": lambda get: (
        "controller", "the cluster", joined(get("partitions"), " partitions read"), get("epoch")),
    "controller_fenced": lambda get: (
        "fenced", joined("controller on broker ", get("controller")),
        joined(get("api"), " of epoch ", get("epoch"), " refused: the epoch is ", get("current")), get("current")),
    "replica_fenced": lambda get: (
        "fenced", _place(get), joined("request of ", get("source"), " with epoch ", get("epoch"), " refused"),
        get("current")),
    "broker_gone": lambda get: ("broker", _broker(get), joined("gone: ", get("reason")), None),
    "leader_elected": lambda get: (
        "leadership", _place(get), joined("leader ", get("leader"), ", ISR ", listed(get("isr"), " ")),
        get("leader_epoch")),
    "partition_offline": lambda get: ("leadership", _place(get), "offline", get("leader_epoch")),
    "became_leader": lambda get: ("leadership", _place(get), "I lead", get("leader_epoch")),
    "became_follower": lambda get: (
        "leadership", _place(get), joined("I follow broker ", get("leader")), get("leader_epoch")),
    "replica_stopped": lambda get: (
        "leadership", _place(get), "no replica, deleted" if get("deleted") else "no replica", None),
    "topic_created": lambda get: (
        "topic", get("topic"),
        joined(get("partitions"), " partitions, ", get("replication_factor"), " copies"), None),
    "topic_grown": lambda get: ("topic", get("topic"), joined(get("partitions"), " partitions"), None),
    "topic_deleted": lambda get: ("topic", get("topic"), "gone", None),
    "config_changed": _setting,
    "group_partition_loaded": lambda get: ("coordinator", _offsets(get), "I coordinate its groups", None),
    "group_partition_unloaded": lambda get: ("coordinator", _offsets(get), "not mine any more", None),
    "assignment_taken": lambda get: ("client", "its partitions", said(get("partitions")), get("generation")),
    "read_replica": lambda get: (
        "client", _place(get), joined("I read from broker ", get("broker"), " (", get("reason"), ")"), None),
    "metadata_refreshed": lambda get: (
        "client", listed(get("topics"), " "), joined("as ", get("source"), " says (", get("reason"), ")"), None),
}  # fmt: skip
"""Event code -> what its parameters say."""


def beliefs(run: Recording) -> Iterator[tuple[Any, ...]]:
    """In the order of the journal."""
    cached = [event for event in run.of("request_received") if event[5].api in CACHED]
    for seq, t_us, node, code, _, params, _ in sorted([*run.of(*_BELIEFS), *cached], key=lambda event: event[6]):
        if code == "request_received":
            kind, subject, belief, epoch = "cache", params.api, joined("as ", params.source, " says"), None
        else:
            kind, subject, belief, epoch = _BELIEFS[code](params.get)
        yield seq, t_us, node, kind, code, subject, belief, epoch
