"""Which brokers are there: registration, heartbeats, fencing, and the way out (KIP-500, KIP-631).

    RegisterBroker                    registered and fenced: known, but it leads nothing
    heartbeat, metadata caught up     unfenced
    no heartbeat for 9 s              fenced: `broker.session.timeout.ms`; its leaderships move, it leaves every ISR
    heartbeat "want to shut down"     in controlled shutdown: leaderships move first; then "you may stop", and fenced
    UnregisterBroker                  forgotten

| now | it says | next |
|---|---|---|
| fenced | wants to shut down | may stop |
| fenced | nothing special, and has read its own registration | unfenced |
| unfenced | wants to be fenced | fenced |
| unfenced | wants to shut down, leads something | controlled shutdown |
| unfenced | wants to shut down, leads nothing | fenced, may stop |
| unfenced, controlled shutdown | wants to shut down, leads nothing, the others have read that | fenced, may stop |

Times of heartbeats are soft: they stand in no record, and a new controller gives every unfenced broker a whole timeout.
An id is taken for as long as its session lasts, even after "you may stop": who starts again sooner is told
DUPLICATE_BROKER_REGISTRATION and tries again. So does Apache Kafka 4.3, asked by hand: refused for nine seconds after
should_shut_down, in at once where a controller had taken over meanwhile (KAFKA-19130: it counts no fenced broker).
Source: ClusterControlManager, BrokerHeartbeatManager.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.controller.kraft.result import Result
from broker_core.metadata import records as r
from broker_core.metadata.errors import RequestError
from broker_core.metadata.feature_levels import METADATA_VERSION
from broker_core.metadata.image import MetadataImage
from broker_core.metadata.registration import BrokerRegistration
from broker_core.metadata.replaying import FENCE, IN_CONTROLLED_SHUTDOWN, LOST, MIGRATING, UNASSIGNED, UNFENCE
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NEVER_US = 1 << 62
RESERVED = 100
"""Directory ids below have a meaning of their own."""


@dataclass(slots=True)
class Contact:
    """What is known of a broker beside the log. `metadata_offset`: as far as it has read."""

    last_us: int
    metadata_offset: int = -1
    shutdown_offset: int = -1


class BrokerControl:
    """Decides about brokers. `partitions`: what their coming and going means for partitions."""

    def __init__(self, image: MetadataImage, cluster_id: str, session_timeout_ms: int) -> None:
        self.image = image
        self.cluster_id = cluster_id
        self.session_timeout_us = session_timeout_ms * 1000
        self.contacts: dict[int, Contact] = {}

    # -- who may do what --------------------------------------------------------------------------
    def is_active(self, broker_id: int) -> bool:
        """Whether a broker may lead and be in an ISR."""
        found = self.image.brokers.get(broker_id)
        return found is not None and found.is_active

    def check(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """The registration that a broker speaks for. Raises RequestError for an older life of it."""
        found = self.image.brokers.get(broker_id)
        if found is None or found.epoch != epoch:
            raise RequestError(ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {found.epoch if found else None}")
        return found

    def directory_for(self, broker_id: int) -> uuid.UUID:
        """Where a broker puts a new replica, if it has one directory only (KIP-858); unassigned otherwise."""
        found = self.image.brokers.get(broker_id)
        return found.directories[0] if found is not None and len(found.directories) == 1 else UNASSIGNED

    def is_online(self, broker_id: int, directory: uuid.UUID) -> bool:
        """Whether a directory of a broker works, as far as anybody knows."""
        found = self.image.brokers.get(broker_id)
        known = found.directories if found is not None else []
        return directory in (UNASSIGNED, MIGRATING) or (directory != LOST and (not known or directory in known))

    def check_assignment(self, replicas: Sequence[int], factor: int | None = None) -> None:
        """Whether a partition can be on these brokers, as many as `factor` where it is given. Raises RequestError."""
        if not replicas:
            raise _invalid("includes an empty replica list.")
        before = None
        for broker in sorted(replicas):
            if broker not in self.image.brokers:
                raise _invalid(f"includes broker {broker}, but no such broker is registered.")
            if broker == before:
                raise _invalid(f"includes the broker {broker} more than once.")
            before = broker
        if factor is not None and len(replicas) != factor:
            raise _invalid(
                f"includes a partition with {len(replicas)} replica(s), but this is not consistent with previous "
                f"partitions, which have {factor} replica(s)."
            )

    # -- registration -----------------------------------------------------------------------------
    def register(self, body: Any, next_offset: int, now_us: int) -> tuple[Result, str]:
        """A broker says that it is there; and how its former life has ended: "not", "in order" or "crash" (KIP-966:
        whoever ends in order says with the next start which epoch it had). Its epoch is `next_offset`.

        Raises RequestError: another cluster, an id that a living broker has, a feature level that it does not know.
        """
        if body.cluster_id != self.cluster_id:
            raise RequestError(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {self.cluster_id}, but got cluster ID {body.cluster_id}",
            )
        before = self.image.brokers.get(body.broker_id)
        if before is not None and before.incarnation_id != body.incarnation_id and self._is_alive(before, now_us):
            raise RequestError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                f"Another broker is registered with that broker id. If the broker was recently restarted this should "
                f"self-resolve once the heartbeat manager expires the broker's session. [{body.broker_id}]",
            )
        self._check_features(body)
        self._check_directories(body)
        self.contacts[body.broker_id] = Contact(now_us)
        record = _registration(body, next_offset)
        if before is not None and before.incarnation_id == body.incarnation_id:
            record.broker_epoch, record.fenced = before.epoch, before.fenced
            record.in_controlled_shutdown = before.in_controlled_shutdown
            return Result([(record, 4)], m.BrokerRegistrationResponse(broker_epoch=before.epoch)), "not"
        end = "not"
        if before is not None:
            end = "in order" if body.previous_broker_epoch == before.epoch else "crash"
        return Result([(record, 4)], m.BrokerRegistrationResponse(broker_epoch=next_offset)), end

    def _is_alive(self, broker: BrokerRegistration, now_us: int) -> bool:
        contact = self.contacts.get(broker.id)
        return contact is not None and now_us - contact.last_us < self.session_timeout_us

    def _check_directories(self, body: Any) -> None:
        if not body.log_dirs:
            raise RequestError(ErrorCode.INVALID_REGISTRATION, "No directories specified in request")
        if len(dict.fromkeys(body.log_dirs)) < len(body.log_dirs) or any(one.int < RESERVED for one in body.log_dirs):
            raise RequestError(ErrorCode.INVALID_REGISTRATION, "Reserved or duplicate directory ID in request")
        for other in self.image.brokers.values():
            taken = [one for one in body.log_dirs if one in other.directories]
            if taken and other.id != body.broker_id:
                message = f"Broker {other.id} is already registered with directory {taken[0]}"
                raise RequestError(ErrorCode.INVALID_REGISTRATION, message)

    def _check_features(self, body: Any) -> None:
        if all(one.name != METADATA_VERSION for one in body.features):
            message = f"Request features do not contain {METADATA_VERSION}"
            raise RequestError(ErrorCode.INVALID_REGISTRATION, message)
        known = {one.name: (one.min_supported_version, one.max_supported_version) for one in body.features}
        for name, level in self.image.features.items():
            least, most = known.get(name, (0, 0))
            if not least <= level <= most:
                raise RequestError(
                    ErrorCode.UNSUPPORTED_VERSION,
                    f"Unable to register because the broker does not support finalized version {level} of {name}. "
                    f"The broker wants a version between {least} and {most}, inclusive.",
                )

    def unregister(self, body: Any) -> Result:
        """Forget a broker. Raises RequestError when there is none."""
        found = self.image.brokers.get(body.broker_id)
        if found is None:
            message = f"Broker ID {body.broker_id} is not currently registered"
            raise RequestError(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
        self.contacts.pop(found.id, None)
        record = r.UnregisterBrokerRecord(broker_id=found.id, broker_epoch=found.epoch)
        return Result([(record, 0)], m.UnregisterBrokerResponse())

    # -- heartbeats -------------------------------------------------------------------------------
    def activated(self, now_us: int) -> None:
        """A new controller: everybody in service has just been heard of. Who is fenced need not be fenced again, so its
        id waits for no session (KAFKA-19130)."""
        self.contacts = {one.id: Contact(now_us) for one in self.image.brokers.values() if not one.fenced}

    def touch(self, body: Any, now_us: int) -> Contact:
        contact = self.contacts.setdefault(body.broker_id, Contact(now_us))
        contact.last_us = now_us
        contact.metadata_offset = max(contact.metadata_offset, body.current_metadata_offset)
        return contact

    def next_state(self, body: Any, contact: Contact, leads: Callable[[], bool]) -> str:
        """"fenced", "unfenced", "stopping" or "may stop": the table of the module."""
        broker = self.image.brokers[body.broker_id]
        if broker.fenced:
            if body.want_shut_down:
                return "may stop"
            caught_up = body.current_metadata_offset >= broker.epoch
            return "unfenced" if caught_up and not body.want_fence else "fenced"
        if broker.in_controlled_shutdown:
            told = contact.shutdown_offset <= self._least_offset_of_active()
            return "may stop" if told and not leads() else "stopping"
        if body.want_fence:
            return "may stop" if body.want_shut_down else "fenced"
        if body.want_shut_down:
            return "stopping" if leads() else "may stop"
        return "unfenced"

    def _least_offset_of_active(self) -> int:
        """How far all have read that a client may ask."""
        offsets = [self.contacts[one].metadata_offset for one in self.contacts if self.is_active(one)]
        return min(offsets, default=NEVER_US)

    def overdue(self, now_us: int) -> list[int]:
        """Unfenced brokers that have said nothing for a whole session."""
        return [
            broker for broker, contact in self.contacts.items()
            if now_us - contact.last_us >= self.session_timeout_us
            and broker in self.image.brokers and not self.image.brokers[broker].fenced
        ]  # fmt: skip


def _invalid(words: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment {words}")


def fencing(broker: BrokerRegistration, fence: bool) -> tuple[Any, int]:
    """The record that fences or unfences."""
    change = FENCE if fence else UNFENCE
    return r.BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=change), 0


def stopping(broker: BrokerRegistration) -> tuple[Any, int]:
    """The record of a controlled shutdown."""
    return r.BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=IN_CONTROLLED_SHUTDOWN
    ), 1


def _registration(body: Any, epoch: int) -> Any:
    kind = r.RegisterBrokerRecord
    return kind(
        broker_id=body.broker_id, incarnation_id=body.incarnation_id, broker_epoch=epoch, rack=body.rack, fenced=True,
        log_dirs=sorted(body.log_dirs), **listed(body, kind.BrokerEndpoint, kind.BrokerFeature),
    )  # fmt: skip


def listed(body: Any, endpoint: Any, feature: Any) -> dict[str, list[Any]]:
    """Listeners and features of a registration, as its record has them."""
    return {
        "end_points": [
            endpoint(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol)
            for one in body.listeners
        ],
        "features": [
            feature(
                name=one.name, min_supported_version=one.min_supported_version,
                max_supported_version=one.max_supported_version,
            )
            for one in body.features
        ],
    }  # fmt: skip
