"""The admin client, and the process of the person at the screen: topics, settings, records by hand.

An admin request goes to the broker that can answer it, with ZooKeeper to the controller for everything
that changes topics. NOT_CONTROLLER and closed connections lead to a metadata refresh and another try,
until `default.api.timeout.ms` is over.

| command | request | answered by |
|---|---|---|
| create_topic | CreateTopics | controller |
| delete_topic | DeleteTopics | controller |
| add_partitions | CreatePartitions | controller |
| alter_config of a topic | IncrementalAlterConfigs | any broker |
| alter_config of a broker | IncrementalAlterConfigs | that broker |
| elect_leaders | ElectLeaders | controller |
| reassign, cancel_reassignment | AlterPartitionReassignments | controller |
| move_replica | AlterReplicaLogDirs | the broker that has it |
| both with a throttle, verify_reassignment | several (see `throttled_moves`) | controller and brokers |
| delete_records | DeleteRecords | leader |
| reset_offsets | several (see `offset_reset`) | coordinator and leaders |
| delete_offsets | several (see `offset_deletion`) | coordinator |
| add_voter, remove_voter | several (see `voter_change`) | controller |
| update_feature | UpdateFeatures | controller |
| produce | Produce (`records_by_hand`) | leader |
| ask_versions | ApiVersions | that broker |

A broker that has lost its power says nothing, not even that its connection is closed. What any broker can answer
waits for `MOVE_ON_MS` only and goes to another one then, as `NetworkClient.leastLoadedNode` would choose it: a
broker that has answered nothing lately comes last.

What only the controller can answer has `request.timeout.ms`, and is sent again then, as `KafkaAdminClient` does with
every call that was disconnected. Here it need not take so long: after `MOVE_ON_MS` the others are asked who the
controller is, and when it is another one by now, the old one is given up.

    click      create orders --> broker-1 (no power)
    + 3 s      who is the controller?  --> broker-2: 1, asked again
    + 6 s      who is the controller?  --> broker-2: 2       disconnect, create orders --> broker-2

To be sent again makes the answer ambiguous, early or late: the silent broker may have done it. Kafka's client shows
TOPIC_ALREADY_EXISTS then, and whoever needs to know looks himself (Kafka Streams does, `InternalTopicManager`). In
the history it is no `fail`, which would say that nothing was done, but `info`: so it is with every refusal behind a
try that was not answered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from broker_core.clients import admin_requests as requests
from broker_core.clients.admin_moves import MoveCommands
from broker_core.clients.admin_requests import ANY, CONTROLLER, MOVE_ON_MS, AdminCall, Target
from broker_core.clients.connections import Connections
from broker_core.clients.metadata import Metadata
from broker_core.clients.offset_deletion import OffsetDeletion
from broker_core.clients.offset_reset import OffsetReset
from broker_core.clients.records_by_hand import RecordsByHand
from broker_core.clients.settings import AdminSettings, parse
from broker_core.clients.transaction_abort import TransactionAbort
from broker_core.clients.voter_change import VoterChange
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node
from broker_core.kernel.problems import Problem
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Response

RESULTS = 1000
ON_ITS_WAY_US = 1_000_000
"""A topic that was just created is not known everywhere yet."""


class AdminMachine(MoveCommands):
    """A process that carries out commands one after the other as they come, and notes how each ended.

    `results`, of the last `RESULTS` commands by their number: `{"kind": ok | fail | info, "error", "message"}`, of a
    record also `{"partition", "offset"}`. A refusal is journalled, too.
    """

    kind = "admin"

    def __init__(self, node: Node, given: dict[str, Any], bootstrap: list[str]) -> None:
        self.node = node
        self.bootstrap = bootstrap
        self.settings = parse(AdminSettings, given)
        self.connections = Connections(node, self.settings, self._connection_changed, "/admin")
        self.metadata = Metadata(node, self.connections, bootstrap, self._metadata_updated)
        self.metadata.allow_auto_creation = False
        self.waiting: list[AdminCall] = []
        self.doubted: dict[AdminCall, None] = {}  # under way to a controller that says nothing
        self.records = RecordsByHand(node, bootstrap, self._note)
        self.results: dict[int, dict[str, Any]] = {}
        self.silent: dict[str, int] = {}  # brokers that let a request wait -> when it was given up
        self._numbers = 0

    def start(self) -> None:
        """Nothing to do until a command comes."""

    # -- commands ---------------------------------------------------------------------------
    def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: dict[str, str],
        assignment: list[list[int]] | None = None,
    ) -> int:  # fmt: skip
        """The number under which `results` will tell how it went (so do all commands)."""
        body = requests.create_topic(topic, partitions, replication_factor, configs, assignment or [], self._timeout_ms)
        return self._begin(ApiKey.CREATE_TOPICS, body, CONTROLLER, {"do": "create_topic", "topic": topic})

    def delete_topic(self, topic: str) -> int:
        body = requests.delete_topic(topic, self._timeout_ms)
        return self._begin(ApiKey.DELETE_TOPICS, body, CONTROLLER, {"do": "delete_topic", "topic": topic})

    def add_partitions(self, topic: str, partitions: int) -> int:
        """`partitions` is the new total."""
        body = requests.add_partitions(topic, partitions, self._timeout_ms)
        return self._begin(ApiKey.CREATE_PARTITIONS, body, CONTROLLER, {"do": "add_partitions", "topic": topic})

    def alter_config(
        self, topic: str | None, broker: int | None, changes: dict[str, str | None], group: str | None = None
    ) -> int:
        """Dynamic settings of a topic, a broker or a group; None takes one back."""
        body = requests.alter_config(topic, broker, changes, group)
        target = ANY if broker is None else broker
        return self._begin(ApiKey.INCREMENTAL_ALTER_CONFIGS, body, target, requests.altered(topic, broker, group))

    def elect_leaders(self, where: tuple[str, int] | None, unclean: bool) -> int:
        """The preferred leader, or with `unclean` any replica that is alive; of one partition or of all (None)."""
        body = requests.elect_leaders(where, unclean, self._timeout_ms)
        what = {} if where is None else {"topic": where[0], "partition": where[1]}
        return self._begin(ApiKey.ELECT_LEADERS, body, CONTROLLER, {"do": "elect_leaders", **what})

    def delete_records(self, topic: str, partition: int, before: int | None) -> int:
        """The log starts at `before` from then on; None: at the high watermark."""
        body = requests.delete_records(
            topic, partition, requests.HIGH_WATERMARK if before is None else before, self._timeout_ms
        )
        what = {"do": "delete_records", "topic": topic, "partition": partition}
        return self._begin(ApiKey.DELETE_RECORDS, body, (topic, partition), what)

    def reset_offsets(self, group: str, topic: str, partition: int | None, where: str, amount: int = 0) -> int:
        """Where a group without members goes on: see `offset_reset`."""
        what: dict[str, Any] = {"do": "reset_offsets", "group": group, "topic": topic}
        what |= {} if partition is None else {"partition": partition}
        call = self._new(ApiKey.OFFSET_COMMIT, None, (topic, partition or 0), what)
        OffsetReset(self, call, group, topic, partition, where, amount).start()
        return self._numbers

    def delete_offsets(self, group: str, topic: str) -> int:
        """The group forgets where it has got to in the topic: see `offset_deletion`."""
        what = {"do": "delete_offsets", "group": group, "topic": topic}
        call = self._new(ApiKey.OFFSET_DELETE, None, (topic, 0), what)
        OffsetDeletion(self, call, group, topic).start()
        return self._numbers

    def abort_transaction(self, topic: str, partition: int) -> int:
        """The oldest transaction that is open in the partition ends there: see `transaction_abort`."""
        what = {"do": "abort_transaction", "topic": topic, "partition": partition}
        call = self._new(ApiKey.WRITE_TXN_MARKERS, None, (topic, partition), what)
        TransactionAbort(self, call, topic, partition).start()
        return self._numbers

    def produce(self, record: dict[str, Any]) -> int:
        """{topic, partition?, key?, value, headers?, acks?, to?, damaged?}: see `records_by_hand`."""
        self._numbers += 1
        self.records.produce(self._numbers, record)
        return self._numbers

    def ask_versions(self, broker: int, version: int) -> int:
        """ApiVersions in any version, also in one that the broker does not know (KIP-511)."""
        what = {"do": "ask_versions", "broker": broker, "version": version}
        call = self._new(ApiKey.API_VERSIONS, None, broker, what)
        call.dest = broker_node(broker)
        self.connections.rpc.call(
            call.dest, call.api, version, requests.ask_versions(), self._timeout_ms * 1000, self._versions_told, call
        )
        return self._numbers

    def _versions_told(self, call: AdminCall, response: Any) -> None:
        """Asked once: whoever does not answer is not asked again."""
        if response is None:
            self.end(call, "info", ErrorCode.NETWORK_EXCEPTION.name, "")
            return
        error, message = requests.verdict(response)
        self.end(call, "fail" if error else "ok", error.name if error else "", message)

    def add_voter(self, controller: int, place: tuple[str, int]) -> int:
        """A controller that listens at `place`, host and port, votes in the metadata quorum: see `voter_change`."""
        return self._change_voters("add_controller", controller, place)

    def remove_voter(self, controller: int) -> int:
        return self._change_voters("remove_controller", controller, None)

    def _change_voters(self, do: str, controller: int, place: tuple[str, int] | None) -> int:
        call = self._new(ApiKey.DESCRIBE_QUORUM, None, ANY, {"do": do, "controller": controller})
        VoterChange(self, call, controller, place).start()
        return self._numbers

    def update_feature(self, feature: str, level: int, downgrade: bool) -> int:
        """Another level of a feature; a lower one only where nothing is lost by that."""
        body = requests.update_feature(feature, level, downgrade, self._timeout_ms)
        what = {"do": "update_feature", "feature": feature, "level": level}
        return self._begin(ApiKey.UPDATE_FEATURES, body, CONTROLLER, what)

    @property
    def _timeout_ms(self) -> int:
        return self.settings.request_timeout_ms

    def _begin(self, api: int, body: Any, target: Target, what: dict[str, Any]) -> int:
        self._try(self._new(api, body, target, what))
        return self._numbers

    def _new(self, api: int, body: Any, target: Target, what: dict[str, Any]) -> AdminCall:
        self._numbers += 1
        deadline = self.node.now_us() + self.settings.default_api_timeout_ms * 1000
        call = AdminCall(api, body, target, deadline, {"id": self._numbers, **what})
        self.node.operation("invoke", "admin", **call.what)
        return call

    # -- requests ---------------------------------------------------------------------------
    def _try(self, call: AdminCall) -> None:
        if self.node.now_us() >= call.deadline_us:
            self.end(call, "info", "TIMEOUT", "")
            return
        dest = self._target(call)
        if dest is None and self.is_nowhere(call):
            self.end(call, "info" if call.unanswered else "fail", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name, "")
        elif dest is None:
            self.waiting.append(call)
            self.metadata.request_update()
        else:
            call.dest = dest
            patience_ms = min(MOVE_ON_MS, self.settings.request_timeout_ms) if call.target == ANY else None
            if call.target == CONTROLLER:
                call.timer = self.node.after(MOVE_ON_MS * 1000, self._doubt, call)
            self.connections.call(dest, call.api, call.body, self._answered, (dest, call), patience_ms)

    def _doubt(self, call: AdminCall) -> None:
        """The controller says nothing: another broker may know of a new one."""
        call.timer = None
        self.doubted[call] = None
        self.connections.quiet.add(call.dest)
        self.metadata.request_update()

    def _target(self, call: AdminCall) -> str | None:
        if call.target == ANY:
            return self.any_broker()
        if call.target == CONTROLLER:
            return broker_node(self.metadata.controller) if self.metadata.controller >= 0 else None
        if isinstance(call.target, tuple):
            topic, partition = call.target
            self.metadata.add_topic(topic)
            leader = self.metadata.leader(topic, partition)
            return broker_node(leader) if leader >= 0 else None
        return broker_node(call.target)

    def is_nowhere(self, call: AdminCall) -> bool:
        """Whether the partition that is asked for does not exist, also not in a moment."""
        if not isinstance(call.target, tuple) or self._may_pass(call, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            return False
        topic, partition = call.target
        known = self.metadata.partition_count(topic)
        return partition >= known if known else self.metadata.errors.get(topic) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def any_broker(self) -> str | None:
        """The least loaded of those that answer. When none of the known ones does, what is known is forgotten and the
        bootstrap brokers are asked again (KIP-899), the one that was given up first before the others."""
        heard = [name for name in self.metadata.brokers if name not in self.silent]
        if not heard:
            self.metadata.brokers = []
            heard = [name for name in self.bootstrap if name not in self.silent]
        if heard or not self.bootstrap:
            return self.connections.least_loaded(heard)
        return min(self.bootstrap, key=lambda name: self.silent[name])

    def _answered(self, context: tuple[str, AdminCall], response: Any) -> None:
        dest, call = context
        self.doubted.pop(call, None)
        if call.timer is not None:
            call.timer.cancel()
        if response is None:
            call.unanswered = True
            self.unheard(dest)
            if call.target != CONTROLLER or broker_node(self.metadata.controller) == dest:
                self.metadata.request_update()
            self._retry(call)
            return
        self.silent.pop(dest, None)
        error, message = requests.verdict(response)
        if error == ErrorCode.NONE:
            self.end(call, "ok", "", "")
        elif self._may_pass(call, error):
            self._retry(call)
        else:
            self.end(call, "info" if call.unanswered else "fail", error.name, message)

    def unheard(self, dest: str) -> None:
        """It has not answered: others come first from now on."""
        self.silent[dest] = self.node.now_us()
        self.connections.failed(dest)

    def _may_pass(self, call: AdminCall, error: ErrorCode) -> bool:
        """Whether another try may end differently."""
        if call.api == ApiKey.ALTER_REPLICA_LOG_DIRS:  # Kafka's client tells what the broker says
            return False
        if error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            begun_us = call.deadline_us - self.settings.default_api_timeout_ms * 1000
            return self.node.now_us() - begun_us < ON_ITS_WAY_US
        if call.api == ApiKey.ELECT_LEADERS:  # "not needed" and "none is there" are retriable for those who wait only
            return error == ErrorCode.NOT_CONTROLLER
        return error == ErrorCode.NOT_CONTROLLER or (error.retriable and error != ErrorCode.REQUEST_TIMED_OUT)

    def _retry(self, call: AdminCall) -> None:
        if isinstance(call.target, tuple):
            self.metadata.request_update()
        elif broker_node(self.metadata.controller) == call.dest:
            self.metadata.controller = -1
        self.later(self._try, call)

    def later(self, method: Callable[..., None], *args: Any) -> None:
        """Another try, after the backoff."""
        self.node.after(self.settings.retry_backoff_ms * 1000, method, *args)

    def end(self, call: AdminCall, kind: str, error: str, message: str, own: Problem | None = None) -> None:
        """How it ended: kind is ok | fail | info. `own`: why, where this client knows more than the broker says."""
        if isinstance(call.target, tuple):
            self.metadata.drop_topic(call.target[0])
        said: dict[str, Any] = {"error": error, "message": message}
        if error:
            said["problem"] = own or requests.refused_with(error, message, call.what)
        self._note(call.what["id"], {"kind": kind, **said})
        self.node.operation(kind, "admin", **call.what, **(said if error else {}))
        if error:
            command = {key: value for key, value in call.what.items() if key != "id"}
            self.node.emit(events.COMMAND_REFUSED, command=command, problem=said["problem"])

    def _note(self, number: int, result: dict[str, Any]) -> None:
        self.results[number] = result
        if len(self.results) > RESULTS:
            del self.results[next(iter(self.results))]

    def _metadata_updated(self) -> None:
        """A controller that says nothing is given up as soon as there is another one; until then the question stays."""
        controller = self.metadata.controller
        for call in list(self.doubted):
            if call in self.doubted and controller >= 0 and broker_node(controller) != call.dest:
                self.connections.drop(call.dest)
        if self.doubted:
            self.metadata.request_update()
        self._try_waiting()

    def _try_waiting(self) -> None:
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            if self.metadata.controller >= 0:
                self._try(call)
            else:
                self.later(self._try, call)

    # -- the process ------------------------------------------------------------------------
    def _connection_changed(self, peer: str, is_ready: bool) -> None:
        if is_ready:
            self.silent.pop(peer, None)
        elif self.waiting:
            self.metadata.request_update()

    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, Response) and not self.connections.receive(source, message):
            self.records.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.connections.peer_down(peer)
        self.records.peer_down(peer)

    def shut_down(self) -> None:
        self.node.exit()

    def view(self) -> dict[str, Any]:
        """Not shown as a client."""
        return {"kind": self.kind, "results": self.results}


def admin_factory(given: dict[str, Any], bootstrap: list[str]) -> Callable[[Node], AdminMachine]:
    """A factory for `World.add_node`."""
    return partial(_make, given, bootstrap)


def _make(given: dict[str, Any], bootstrap: list[str], node: Node) -> AdminMachine:
    return AdminMachine(node, given, bootstrap)
