"""Requests with their answers, appends with their copies: rows of `requests`, `control_requests` and `replication`, and
the questions about them. `lab.analytics.timelines` tells the events of one request.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from broker_core.kernel.names import BROKER, CHECKER
from lab.analytics.by_run.figures import joined, percentile, share
from lab.analytics.by_run.recording import Event, Recording, grouped

Row = dict[str, Any]
STAGES = ("queue_us", "local_us", "remote_us", "response_us")
_NEAR = ("request_stages", "response_sent", "purgatory_completed", "purgatory_expired")
_NOT_TOLD = (None, None)
_CHANGES = ("log_appended", "truncated", "high_watermark")
_TRUNCATED = ("topic", "partition", "before", "after", "reason")


class Request(NamedTuple):
    """A row of the table `requests`, without the run."""

    broker: str
    client: str | None
    connection: str | None
    client_id: str | None
    api: str
    version: int | None
    correlation: int | None
    sent_us: int | None
    received_us: int
    answered_us: int | None
    queue_us: int | None
    local_us: int | None
    remote_us: int | None
    response_us: int | None
    purgatory_us: int | None
    expired: bool
    error: str | None
    seq: int


class Messages:
    """Those of one run."""

    def __init__(self, run: Recording) -> None:
        self.run = run

    # -- requests ---------------------------------------------------------------------------
    @cached_property
    def requests(self) -> list[Request]:
        """The answer is the next thing between the same two with the same API and correlation id."""
        sent = {(seq, correlation, to, api): (t_us, connection)
                for seq, t_us, _, _, _, (to, api, correlation, connection), _ in self.run.of("request_sent")}
        beside = self._beside
        waiting: dict[Any, int] = {}
        received: list[Event] = []
        answers: dict[int, Event] = {}
        for event in self.run.of("request_received", "response_sent"):
            _, _, node, code, _, params, _ = event
            key = (node, *params[:3])  # both begin with the other side, the API and the correlation id
            if code == "request_received":
                waiting[key] = len(received)
                received.append(event)
            elif (at := waiting.pop(key, None)) is not None:
                answers[at] = event
        return [_request(event, sent, answers.get(at), beside) for at, event in enumerate(received)]

    @cached_property
    def _beside(self) -> dict[int, tuple[dict[str, Any], bool]]:
        """By position of an answer: the stages in front of it, and whether a waiting that expired stands beside it."""
        if not self.run.of("request_stages", "purgatory_completed", "purgatory_expired"):
            return {}
        found = {}
        for events in grouped(self.run.of(*_NEAR), lambda event: event[2]).values():
            for before, event, after in zip([None, *events], events, [*events[1:], None]):
                if event[3] == "response_sent":
                    stages = before[5] if before is not None and before[3] == "request_stages" else {}
                    found[event[6]] = stages, _expires(before, event) or _expires(after, event)
        return found

    def control_requests(self) -> Iterator[tuple[Any, ...]]:
        """Rows of that table, without the run. What a controller sends to a broker next is that request."""
        if not self.run.of("control_request"):
            return
        following: dict[Any, Event] = {}
        told = []
        for event in reversed(self.run.of("control_request", "request_sent")):
            is_told = event[3] == "control_request"
            broker = joined(BROKER, event[5].get("to")) if is_told else event[5].to
            channel = event[2], broker, event[5].get("api") if is_told else event[5].api
            if is_told:
                told.append((event, broker, following.get(channel)))
            following[channel] = event
        controllers = {event[2] for event, _, _ in told}
        came = grouped((one for one in self.requests if one.client in controllers),
                       lambda one: (one.client, one.broker, one.api, one.correlation, one.sent_us))
        for event, broker, sent in reversed(told):
            seq, t_us, node, _, _, params, _ = event
            if sent is not None and sent[3] != "request_sent":
                sent = None
            at = None if sent is None else sent[1]
            key = node, broker, params.get("api"), None if sent is None else sent[5].correlation, at
            for one in came.get(key, [None]) if at is not None else [None]:
                rest = (None, None, None) if one is None else (one.received_us, one.answered_us, one.error)
                yield (seq, t_us, node, broker, params.get("api"), params.get("partitions"), params.get("epoch"), at,
                       *rest)

    def latency(self) -> Iterator[Row]:
        """Where the time of a request goes, by API; not of those of the final read-back."""
        answered = [one for one in self.requests if one.answered_us is not None and one.client != CHECKER]
        for api, some in sorted(grouped(answered, lambda one: one.api).items()):
            there = [one.received_us - one.sent_us for one in some if one.sent_us is not None]
            total = [one.answered_us - (one.received_us if one.sent_us is None else one.sent_us) for one in some]
            row = {"run": self.run.name, "api": api, "requests": len(some), "expired": sum(one.expired for one in some),
                   "way_there_p50": percentile(there, 0.5, 1e3)}
            for name in STAGES:
                values = [value for one in some if (value := getattr(one, name)) is not None]
                row[f"{name[:-3]}_p50"] = percentile(values, 0.5, 1e3)
                row[f"{name[:-3]}_p99"] = percentile(values, 0.99, 1e3)
            yield row | {"total_p50": percentile(total, 0.5, 1e3), "total_p99": percentile(total, 0.99, 1e3)}

    # -- replicas ---------------------------------------------------------------------------
    def replication(self) -> list[tuple[Any, ...]]:
        """Rows of that table, without the run."""
        found: list[tuple[Any, ...]] = []
        for seq, t_us, node, code, _, params, _ in self.run.of(*_CHANGES):
            if code == "log_appended":
                topic, partition, base, last, size, role, _ = params
                found.append((seq, t_us, node, topic, partition, "appended", base, last, size, role, None, None, None))
                continue
            topic, partition, before, after, reason = (
                (*params, None) if code == "high_watermark" else map(params.get, _TRUNCATED))
            found.append((seq, t_us, node, topic, partition, code, None, None, None, None, before, after, reason))
        return found

    def replication_lag(self) -> Iterator[Row]:
        """How long after the leader's append the same last offset stood on each follower."""
        led: dict[Any, int] = {}
        followed: list[tuple[int, str, Any]] = []
        for _, t_us, node, _, _, (topic, partition, _, last, _, role, _), _ in self.run.of("log_appended"):
            place = topic, partition, last
            if role == "leader":
                led[place] = max(led.get(place, t_us), t_us)
            elif role == "follower":
                followed.append((t_us, node, place))
        lags: dict[Any, list[int]] = {}
        for t_us, node, place in followed:
            at = led.get(place)
            if at is not None and t_us >= at:
                lags.setdefault((*place[:2], node), []).append(t_us - at)
        for (topic, partition, follower), values in sorted(lags.items()):
            yield {"run": self.run.name, "topic": topic, "partition": partition, "follower": follower,
                   "appends": len(values), "p50_ms": percentile(values, 0.5, 1e3),
                   "p95_ms": percentile(values, 0.95, 1e3), "p99_ms": percentile(values, 0.99, 1e3),
                   "max_ms": max(values) / 1e3}

    def leader_skew(self) -> Iterator[Row]:
        """What each broker had to do as a leader."""
        led = grouped((event for event in self.run.of("log_appended") if event[5].role == "leader"),
                      lambda event: event[2])
        sizes = {node: [size for event in events if (size := event[5].bytes) is not None]
                 for node, events in led.items()}
        total = sum(map(sum, sizes.values()))
        for node, events in sorted(led.items()):
            partitions = {(event[5].topic, event[5].partition) for event in events}
            size = sum(sizes[node]) if sizes[node] else None
            yield {"run": self.run.name, "broker": node, "partitions": len(partitions), "bytes": size,
                   "share": None if size is None else share(size, total)}


def _expires(beside: Event | None, answer: Event) -> bool:
    return (beside is not None and beside[3] == "purgatory_expired" and beside[0] == answer[0]
            and beside[5].get("operation") == answer[5].api)


def _request(event: Event, sent: dict[Any, Any], answer: Event | None, beside: dict[int, Any]) -> Request:
    seq, t_us, node, _, cause, (source, api, correlation, version, client_id), _ = event
    sent_us, connection = sent.get((cause, correlation, node, api), _NOT_TOLD)
    answered_us, error, expired = None, None, False
    queue = local = remote = response = None
    if answer is not None:
        answered_us, error = answer[1], answer[5].error
        if answer[6] in beside:
            stages, expired = beside[answer[6]]
            queue, local, remote, response = map(stages.get, STAGES)
    waited = answered_us - t_us if expired and remote is None and answered_us is not None else remote
    return Request(node, source, connection, client_id, api or "", version, correlation, sent_us, t_us, answered_us,
                   queue, local, remote, response, waited, expired, error, seq)
