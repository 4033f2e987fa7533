"""The life of a broker as the controller sees it: registered, caught up, unfenced, on its way out.

| state | what it says with each heartbeat | => next |
|---|---|---|
| starting | keep me fenced; I have read up to offset N | "you are caught up" => recovery: the broker opens its logs |
| recovery | the same, until the broker listens; then: unfence me | "you are not fenced" => running |
| running | all is well | asked to stop => stopping |
| stopping | I want to shut down | "you may" => stopped |
| stopped | nothing | |

    RegisterBroker(incarnation, log directories, previous epoch) -> epoch 7
    heartbeat every `broker.heartbeat.interval.ms` [2 s]; silent for `broker.session.timeout.ms` [9 s]: fenced

A broker that was silent for too long stays registered: with its next heartbeat it is unfenced again. One that was
unregistered, or whose id another process has by now, is refused from then on (STALE_BROKER_EPOCH): it says the same at
each interval, and only its next start registers it. When nobody answers, it asks again after the same interval.
A broker that could not register within `initial.broker.registration.timeout.ms` [60 s] gives up.
A machine that wants an id which is a broker's is refused (DUPLICATE_BROKER_REGISTRATION) for as long as that one's
session lives. Then it registers, and begins anew as that broker, which says the same once more: one incarnation.
Source: BrokerLifecycleManager (KIP-500, KIP-631).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from broker_core.cluster.disks import new_uuid
from broker_core.cluster.kraft.channel import ControllerChannel
from broker_core.cluster.kraft.process import MetadataProcess
from broker_core.cluster.port import Member
from broker_core.kernel import events
from broker_core.kernel.node import Timer
from broker_core.metadata.feature_levels import SUPPORTED
from broker_core.metadata.registration import PROTOCOL_NUMBERS
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

STARTING, RECOVERY, RUNNING, STOPPING, STOPPED = "starting", "recovery", "running", "stopping", "stopped"
NO_EPOCH = -1
AT_ONCE_US, SOON_US, WHILE_STOPPING_US = 0, 10_000, 50_000
REGISTRATION, HEARTBEAT = 4, 1


class BrokerLifecycle:
    """See the module. `previous_epoch`: of the life before that ended in order, -1 otherwise; `directories`: ids."""

    def __init__(
        self, member: Member, process: MetadataProcess, channel: ControllerChannel, directories: list[uuid.UUID],
        previous_epoch: int, caught_up: Callable[[], None],
    ) -> None:  # fmt: skip
        self.member = member
        self.node = member.node
        self.process = process
        self.channel = channel
        self.directories = directories
        self.previous_epoch = previous_epoch
        self.caught_up = caught_up
        self.state = STARTING
        self.epoch = NO_EPOCH
        self.incarnation: uuid.UUID = self.node.inherit() or new_uuid(self.node)
        self.offline: dict[uuid.UUID, None] = {}
        self.ready_to_unfence = False
        self._heartbeat_us: int = member.config["broker.heartbeat.interval.ms"] * 1000
        self._session_us: int = member.config["broker.session.timeout.ms"] * 1000
        self._refused = False
        self._in_flight = False
        self._at_once = False
        self._stop_answers = 0
        self._timer: Timer | None = None
        self._may_stop: Callable[[], None] | None = None

    # -- what its broker says -------------------------------------------------------------------
    def start(self) -> None:
        limit_ms = self.member.config["initial.broker.registration.timeout.ms"]
        self.node.after(limit_ms * 1000, self._check_registered)
        self._communicate()

    def _check_registered(self) -> None:
        if self.epoch == NO_EPOCH and self.state == STARTING:
            self.node.end("refused" if self.member.applies else "halted")

    def unfence(self) -> None:
        """The broker listens."""
        if not self.ready_to_unfence:
            self.ready_to_unfence = True
            self._next(AT_ONCE_US)

    def shut_down(self, may_stop: Callable[[], None]) -> None:
        """The broker wants to stop; `may_stop()` once the controller agrees, or nobody has answered for a session."""
        self._may_stop = may_stop
        if self.state == STOPPED:
            self._stop()
            return
        self.state = STOPPING
        self.node.after(self._session_us, self._waited_long_enough, self._stop_answers)
        self._next(AT_ONCE_US)

    def _waited_long_enough(self, answers: int) -> None:
        if self.state == STOPPING and answers == self._stop_answers:
            self._stop()
        elif self.state == STOPPING:
            self.node.after(self._session_us, self._waited_long_enough, self._stop_answers)

    def directory_failed(self, directory: uuid.UUID) -> None:
        """The controller hears of it with the next heartbeats, the first of which goes now."""
        self.offline[directory] = None
        self._next(AT_ONCE_US)

    def _stop(self) -> None:
        self.state = STOPPED
        if self._timer is not None:
            self._timer.cancel()
        done, self._may_stop = self._may_stop, None
        if done is not None:
            done()

    # -- one request at a time --------------------------------------------------------------------
    def _next(self, delay_us: int) -> None:
        if self._in_flight:
            self._at_once |= delay_us == AT_ONCE_US
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.node.after(delay_us, self._communicate)

    def _communicate(self) -> None:
        self._timer = None
        if self._in_flight or self.state == STOPPED:
            return
        self._in_flight = True
        if self.epoch == NO_EPOCH:
            body, api, version, done = self._registration(), ApiKey.BROKER_REGISTRATION, REGISTRATION, self._registered
        else:
            body, api, version, done = self._heartbeat(), ApiKey.BROKER_HEARTBEAT, HEARTBEAT, self._beaten
        self.channel.call(api, version, body, done, None, self._session_us)

    def _answered(self, answer: Any) -> ErrorCode:
        """What came of the last request; NOT_CONTROLLER when nobody has answered."""
        self._in_flight = False
        return ErrorCode.NOT_CONTROLLER if answer is None else ErrorCode(answer.error_code)

    def _after_failure(self) -> None:
        self._at_once = False
        self._next(self._heartbeat_us)

    def _after_success(self, delay_us: int) -> None:
        now, self._at_once = self._at_once, False
        self._next(AT_ONCE_US if now else delay_us)

    # -- registration -----------------------------------------------------------------------------
    def _registration(self) -> Any:
        own, kind = self.member.registration(), m.BrokerRegistrationRequest
        return kind(
            broker_id=self.member.broker_id, cluster_id=self.process.cluster_id, incarnation_id=self.incarnation,
            listeners=[
                kind.Listener(name=one.listener, host=one.host, port=one.port,
                              security_protocol=PROTOCOL_NUMBERS[one.security_protocol])
                for one in own.listeners.values()
            ],
            features=[
                kind.Feature(name=name, min_supported_version=least, max_supported_version=most)
                for name, (least, most) in SUPPORTED.items()
            ],
            rack=own.rack, log_dirs=sorted(self.directories), previous_broker_epoch=self.previous_epoch,
        )  # fmt: skip

    def _registered(self, context: None, answer: Any) -> None:
        error = self._answered(answer)
        if error == ErrorCode.NONE and self.member.applies:
            self.member.take_over(self.incarnation)
            return
        if error == ErrorCode.NONE:
            self.epoch = answer.broker_epoch
            self._after_success(AT_ONCE_US)
            return
        if error == ErrorCode.DUPLICATE_BROKER_REGISTRATION and not self._refused:
            self._refused = True
            found = self.process.loader.image.brokers.get(self.member.broker_id)
            places = [f"{one.host}:{one.port}" for one in found.listeners.values()] if found is not None else []
            self.node.emit(events.BROKER_REFUSED, broker=self.member.broker_id, owner=",".join(places))
        self._after_failure()

    # -- heartbeats -------------------------------------------------------------------------------
    def _heartbeat(self) -> Any:
        return m.BrokerHeartbeatRequest(
            broker_id=self.member.broker_id, broker_epoch=self.epoch,
            current_metadata_offset=self.process.loader.offset, want_fence=not self.ready_to_unfence,
            want_shut_down=self.state == STOPPING, offline_log_dirs=list(self.offline),
        )  # fmt: skip

    def _beaten(self, context: None, answer: Any) -> None:
        error = self._answered(answer)
        if error != ErrorCode.NONE:
            self._after_failure()
            return
        delay_us = self._heartbeat_us
        if self.state == STARTING:
            delay_us = SOON_US
            if answer.is_caught_up:
                self.state = RECOVERY
                self.caught_up()
        elif self.state == RECOVERY and not answer.is_fenced:
            self.state = RUNNING
        elif self.state == STOPPING:
            self._stop_answers += 1
            if answer.should_shut_down:
                self._stop()
                return
            delay_us = WHILE_STOPPING_US if self._stop_answers == 1 else self._heartbeat_us
        self._after_success(delay_us)
