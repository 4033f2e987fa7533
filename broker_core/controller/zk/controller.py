"""The ZooKeeper-mode controller that lives inside every broker, and is active in one of them.

    start ----> try to create /controller (ephemeral) and raise /controller_epoch, both or neither
                  created       => controller of that epoch: read everything, put it right (`failover`)
                  NodeExists    => somebody else is; watch /controller
    /controller deleted         => try again
    session expired             => resign, if active; try again once the broker is registered anew

All who watch /controller hear of its end at the same time and race for it; the tree lets one win. The
epoch tells the reigns apart: whoever gets a request of an older epoch refuses it, and every write of
the controller is conditional on it (`store`). So a controller that was paused and replaced, a zombie,
can neither command nor write; it finds its session expired and resigns.

Source: `KafkaController`, KIP-380 (broker epochs), KIP-497 (AlterPartition).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.controller.zk.alter_partition import AlterPartition
from broker_core.controller.zk.batch import RequestBatch
from broker_core.controller.zk.channels import ControllerChannels
from broker_core.controller.zk.context import ControllerContext
from broker_core.controller.zk.core import BrokerConfig, ControllerCore
from broker_core.controller.zk.deletion import TopicDeletion, stop_replica_errors
from broker_core.controller.zk.failover import Failover
from broker_core.controller.zk.leadership import Leadership
from broker_core.controller.zk.membership import Membership
from broker_core.controller.zk.notifications import Notifications, leader_and_isr_errors
from broker_core.controller.zk.partitions import PartitionStateMachine
from broker_core.controller.zk.producer_ids import ProducerIds
from broker_core.controller.zk.reassign_requests import ReassignRequests
from broker_core.controller.zk.reassignment import Reassignment
from broker_core.controller.zk.replicas import ReplicaStateMachine
from broker_core.controller.zk.shutdown import ControlledShutdown
from broker_core.controller.zk.store import ControllerStore
from broker_core.controller.zk.thread import ControllerThread
from broker_core.controller.zk.topics import Topics
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.controller.zk import znodes
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import RpcClient
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import SessionHandler, ZkClient

Done = Callable[[Any, Any], None]
Handler = Callable[[Any, Done, Any], None]


class KafkaController:
    """One in every broker. The broker calls `start` when it is registered, and again after each new
    registration; hands it the requests for the controller; and reads `is_active`, `controller_id`."""

    def __init__(self, node: Node, zk: ZkClient, broker_id: int, config: BrokerConfig, rpc: RpcClient) -> None:
        self.node = node
        self.zk = zk
        self.broker_id = broker_id
        self.is_active = False
        self.controller_id: int | None = None
        self.broker_changes = 0
        self.context = ControllerContext()
        self.thread = ControllerThread(node, zk, self._session_lost)
        self._serving: tuple[str, Done, Any] | None = None
        self.core = self._make_core(config, rpc)
        self._make_parts()
        zk.handlers.append(SessionHandler(expired=self._session_expired))

    def _make_core(self, config: BrokerConfig, rpc: RpcClient) -> ControllerCore:
        store = ControllerStore(self.thread, self.context, self._moved)
        timeout_ms = config.get("controller.socket.timeout.ms") or 30_000
        channels = ControllerChannels(self.node, rpc, timeout_ms * 1000)
        batch = RequestBatch(
            self.broker_id, self.context, channels, self._leader_and_isr_answered, self._stop_replica_answered
        )
        partitions = PartitionStateMachine(self.node, self.context, store, batch, config)
        replicas = ReplicaStateMachine(self.node, self.context, store, batch)
        return ControllerCore(
            self.node, self.zk, config, self.context, self.thread, store, channels, batch, partitions, replicas
        )

    def _make_parts(self) -> None:
        core = self.core
        self.deletion = TopicDeletion(core)
        self.reassignment = Reassignment(core, self.deletion)
        self.membership = Membership(core, self.deletion, self.reassignment)
        self.topics = Topics(core, self.reassignment)
        self.leadership = Leadership(core)
        self.notifications = Notifications(core, self.membership)
        self.alter_partition = AlterPartition(core, self.reassignment)
        self.controlled_shutdown = ControlledShutdown(core)
        self.producer_ids = ProducerIds(core)
        self.reassign_requests = ReassignRequests(core, self.reassignment)
        self.failover = Failover(
            core, self.membership, self.topics, self.deletion, self.reassignment, self.leadership, self.notifications
        )

    @property
    def epoch(self) -> int:
        """The epoch of this broker's last reign; 0 when it never was controller."""
        return self.context.epoch

    # --- election --------------------------------------------------------------------------------

    def start(self) -> None:
        """The broker is registered (again): take part in the election."""
        self.zk.on_change(znodes.CONTROLLER, self._controller_rang)
        self.thread.put(self._elect)

    def _controller_rang(self, kind: str, path: str) -> None:
        self.thread.put(self._elect if kind == p.NODE_DELETED else self._look)

    def _look(self) -> None:
        """Event: somebody has become controller."""
        self.core.store.read([p.Exists(znodes.CONTROLLER), p.GetData(znodes.CONTROLLER)], self._seen)

    def _seen(self, results: list[p.Result]) -> bool:
        """Take note of who is controller; whether there is one."""
        found = results[1]
        self.controller_id = znodes.decode_controller(found.data) if found.ok else None
        if self.is_active and self.controller_id != self.broker_id:
            self._resign("another broker is controller" if found.ok else "/controller is gone")
        return found.ok

    def _elect(self) -> None:
        """Event: there may be no controller."""
        self.core.store.read([p.Exists(znodes.CONTROLLER), p.GetData(znodes.CONTROLLER)], self._elect_if_none)

    def _elect_if_none(self, results: list[p.Result]) -> None:
        if not self._seen(results):
            self._read_epoch()

    def _read_epoch(self) -> None:
        self.thread.request([p.GetData(znodes.CONTROLLER_EPOCH)], self._try_to_win)

    def _try_to_win(self, results: list[p.Result]) -> None:
        stat = results[0].stat
        if stat is None:
            self.thread.request([p.Create(znodes.CONTROLLER_EPOCH, b"0")], self._epoch_created)
            return
        epoch = int(results[0].data) + 1
        me = znodes.encode_controller(self.broker_id, self.node.wall_ms())
        both = p.Multi(
            [
                p.Create(znodes.CONTROLLER, me, ephemeral=True),
                p.SetData(znodes.CONTROLLER_EPOCH, b"%d" % epoch, stat.version),
            ]
        )
        self.thread.request([both], self._tried, epoch)

    def _epoch_created(self, results: list[p.Result]) -> None:
        self._read_epoch()

    def _tried(self, epoch: int, results: list[p.Result]) -> None:
        stat = results[0].results[1].stat if results[0].ok else None
        if stat is not None:
            self._won(epoch, stat.version)
            return
        reads: list[p.Operation] = [p.GetData(znodes.CONTROLLER), p.GetData(znodes.CONTROLLER_EPOCH)]
        self.thread.request(reads, self._lost_or_repeated, epoch)

    def _lost_or_repeated(self, epoch: int, results: list[p.Result]) -> None:
        """Lost; or the request was sent twice over a broken connection and had succeeded before."""
        held, current = results
        mine = held.ok and znodes.decode_controller(held.data) == self.broker_id
        if mine and current.stat is not None and int(current.data) == epoch:
            self._won(epoch, current.stat.version)
        else:
            self._look()

    def _won(self, epoch: int, version: int) -> None:
        self.core.batch.clear()
        self.context.forget()
        self.context.epoch, self.context.epoch_zk_version = epoch, version
        self.is_active = True
        self.controller_id = self.broker_id
        self.node.emit(events.CONTROLLER_ELECTED, broker=self.broker_id, epoch=epoch)
        for path in (znodes.BROKER_IDS, znodes.TOPICS, znodes.DELETE_TOPICS, znodes.ISR_CHANGES, znodes.LOG_DIR_EVENTS):
            self.zk.on_children(path, self._rang)
        self.zk.on_change(znodes.PREFERRED_ELECTION, self._rang)
        self.thread.call(self.failover.begin)

    # --- the end of a reign ----------------------------------------------------------------------

    def _session_expired(self) -> None:
        """The client's news: /controller and our registration are gone."""
        self.thread.abandon(self._session_lost)

    def _session_lost(self) -> None:
        self.controller_id = None
        self._resign("session expired")

    def _moved(self) -> None:
        """A fenced write has failed: there is a newer controller."""
        self._resign("the controller epoch has moved on")
        self._look()

    def _resign(self, reason: str) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            self._refuse(*serving)
        if not self.is_active:
            return
        self.is_active = False
        self.node.emit(events.CONTROLLER_RESIGNED, broker=self.broker_id, epoch=self.epoch, reason=reason)
        for path in (
            znodes.BROKER_IDS,
            znodes.TOPICS,
            znodes.DELETE_TOPICS,
            znodes.ISR_CHANGES,
            znodes.LOG_DIR_EVENTS,
            znodes.PREFERRED_ELECTION,
            *(znodes.topic_path(topic) for topic in self.context.assignments),
        ):
            self.zk.forget(path)
        self.leadership.stop_checks()
        self.core.channels.close()
        self.core.batch.clear()
        self.context.forget()

    # --- events ----------------------------------------------------------------------------------

    def _rang(self, kind: str, path: str) -> None:
        self.thread.put_once(self._tree_changed, path)

    def _tree_changed(self, path: str) -> None:
        if not self.is_active:
            return
        match path:
            case znodes.BROKER_IDS:
                self.broker_changes += 1
                self.membership.brokers_changed()
            case znodes.TOPICS:
                self.topics.topics_changed()
            case znodes.DELETE_TOPICS:
                self.deletion.wishes_changed()
            case znodes.PREFERRED_ELECTION:
                self.leadership.election_wished()
            case _:
                self.notifications.slips_changed(path)

    def _leader_and_isr_answered(self, broker: int, request: Any, response: Any) -> None:
        errors = leader_and_isr_errors(request, response)
        known = self.context.offline_dirs.get(broker)
        if known or any(code is ErrorCode.KAFKA_STORAGE_ERROR for code in errors.values()):
            self.thread.put(self._while_active, self.notifications.leader_and_isr_answered, broker, errors)

    def _stop_replica_answered(self, broker: int, request: Any, response: Any) -> None:
        errors = stop_replica_errors(request, response)
        if errors:
            self.thread.put(self._while_active, self.deletion.replicas_stopped, broker, errors)

    def _while_active(self, method: Callable[..., None], *args: Any) -> None:
        if self.is_active:
            method(*args)

    def unclean_election_enabled(self, topic: str | None = None) -> None:
        """A topic, or every topic that does not say otherwise, may have unclean leaders from now on: partitions that
        have none try again."""
        self.thread.put(self._while_active, self.core.partitions.bring_online, topic)

    # --- requests --------------------------------------------------------------------------------

    def handle_alter_partition(self, request: m.AlterPartitionRequest, done: Done, context: Any = None) -> None:
        self.thread.put(self._serve, "AlterPartitionResponse", self.alter_partition.handle, request, done, context)

    def handle_controlled_shutdown(self, request: m.ControlledShutdownRequest, done: Done, context: Any = None) -> None:
        self.thread.put(
            self._serve, "ControlledShutdownResponse", self.controlled_shutdown.handle, request, done, context
        )

    def elect_leaders(self, request: m.ElectLeadersRequest, done: Done, context: Any = None) -> None:
        self.thread.put(self._serve, "ElectLeadersResponse", self.leadership.handle, request, done, context)

    def allocate_producer_ids(self, request: m.AllocateProducerIdsRequest, done: Done, context: Any = None) -> None:
        self.thread.put(self._serve, "AllocateProducerIdsResponse", self.producer_ids.handle, request, done, context)

    def alter_partition_reassignments(
        self, request: m.AlterPartitionReassignmentsRequest, done: Done, context: Any = None
    ) -> None:
        self.thread.put(
            self._serve, "AlterPartitionReassignmentsResponse", self.reassign_requests.alter, request, done, context
        )

    def list_partition_reassignments(
        self, request: m.ListPartitionReassignmentsRequest, done: Done, context: Any = None
    ) -> None:
        self.thread.put(
            self._serve, "ListPartitionReassignmentsResponse", self.reassign_requests.list, request, done, context
        )

    def _serve(self, kind: str, handler: Handler, request: Any, done: Done, context: Any) -> None:
        """Event: a request; whatever happens, it is answered once."""
        if not self.is_active:
            self._refuse(kind, done, context)
            return
        self._serving = (kind, done, context)
        handler(request, self._served, None)

    def _served(self, context: Any, response: Any) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            serving[1](serving[2], response)

    def _refuse(self, kind: str, done: Done, context: Any) -> None:
        response = getattr(m, kind)(error_code=ErrorCode.NOT_CONTROLLER)
        if "error_message" in response.FIELDS:
            response.error_message = ErrorCode.NOT_CONTROLLER.message
        done(context, response)
