"""Client settings: Kafka's names, types and defaults; an unknown name is refused with a hint.

`batch.size` is the field `batch_size`: a dot of Kafka's name is an underscore here. Durations are
milliseconds, sizes bytes. Defaults are those of the 3.x Java clients; what differs in another era is
in `ERAS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

from broker_core.clients.old_clients import FALLBACK, RELEASES
from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem
from broker_core.metadata.durations import duration_ms

ERAS: dict[str, dict[str, dict[str, str]]] = {
    # before 2.4: round robin (KIP-480); 3.0: acks=1, no idempotence (KIP-679), sessions of 10 s (KIP-735), one assignor
    # (KIP-726); 3.7: no exponential backoff (KIP-580)
    "old": {
        "producer": {
            "acks": "1",
            "enable.idempotence": "false",
            "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
            "retry.backoff.max.ms": "100",
        },
        "consumer": {
            "session.timeout.ms": "10000", "retry.backoff.max.ms": "100", "partition.assignment.strategy": "range",
        },
    },
    "3.x": {},
    "4.x": {"producer": {"linger.ms": "5"}},  # KIP-1030
}


IDEMPOTENCE, IN_FLIGHT = "enable.idempotence", "max.in.flight.requests.per.connection"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BY_DURATION = "by_duration:"
ACKNOWLEDGEMENT_MODE, EXPLICIT = "share.acknowledgement.mode", "explicit"
GROUP_PROTOCOL, CLASSIC, CONSUMER = "group.protocol", "classic", "consumer"
CLASSIC_ONLY = ("heartbeat.interval.ms", "session.timeout.ms", "partition.assignment.strategy")
"""What a group of KIP-848 is told by its brokers."""


class SettingsError(Refusal, ValueError):
    """A setting of a client that is unknown, of the wrong type or in conflict with another; `names`: which."""

    def __init__(self, what: Problem, *names: str) -> None:
        super().__init__(what)
        self.names = names

    def __reduce__(self) -> tuple[type[SettingsError], tuple[Any, ...]]:
        return type(self), (self.problem, *self.names)


def _check_release(given: str) -> None:
    if given and given not in RELEASES:
        raise _not_among(FALLBACK, given, *RELEASES)


def _not_among(name: str, given: object, *known: str) -> SettingsError:
    return SettingsError(problem("setting_among", name=name, given=str(given), known=known), name)


@dataclass(slots=True)
class ClientSettings:
    """What all clients have."""

    client_id: str = ""
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000

    def check(self, given: Mapping[str, Any]) -> None:
        """Rules between settings; subclasses add theirs."""


@dataclass(slots=True)
class ProducerSettings(ClientSettings):
    """`ProducerConfig`. `acks` is -1 for "all"."""

    acks: int = -1
    batch_size: int = 16_384
    linger_ms: int = 0
    buffer_memory: int = 33_554_432
    max_block_ms: int = 60_000
    max_request_size: int = 1_048_576
    max_in_flight_requests_per_connection: int = 5
    retries: int = 2_147_483_647
    delivery_timeout_ms: int = 120_000
    enable_idempotence: bool = True
    compression_type: str = "none"
    transactional_id: str = ""
    transaction_timeout_ms: int = 60_000
    partitioner_class: str = ""
    partitioner_adaptive_partitioning_enable: bool = True
    partitioner_ignore_keys: bool = False
    broker_version_fallback: str = ""

    def check(self, given: Mapping[str, Any]) -> None:
        """`ProducerConfig.postProcessAndValidateIdempotenceConfigs`, and the delivery timeout's rule."""
        if self.acks not in (-1, 0, 1):
            raise _not_among("acks", self.acks, "all", "-1", "0", "1")
        if self.compression_type not in CODECS:
            raise _not_among("compression.type", self.compression_type, *CODECS)
        _check_release(self.broker_version_fallback)
        explicit = IDEMPOTENCE in given and self.enable_idempotence
        for wrong, name, needs in (
            (self.acks != -1, "acks", problem("idempotence_acks")),
            (self.retries == 0, "retries", problem("idempotence_retries")),
            (bool(self.broker_version_fallback), FALLBACK, problem("old_client", name=IDEMPOTENCE)),
            (self.max_in_flight_requests_per_connection > 5, IN_FLIGHT, problem("idempotence_in_flight")),
        ):
            if wrong and explicit:
                raise SettingsError(needs, name, IDEMPOTENCE)
            if wrong:
                self.enable_idempotence = False
        if self.transactional_id and not self.enable_idempotence:
            raise SettingsError(problem("transactions_idempotence"), "transactional.id", IDEMPOTENCE)
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            if "delivery.timeout.ms" in given:
                names = "delivery.timeout.ms", "linger.ms", "request.timeout.ms"
                raise SettingsError(problem("delivery_timeout"), *names)
            self.delivery_timeout_ms = self.linger_ms + self.request_timeout_ms


@dataclass(slots=True)
class ConsumerSettings(ClientSettings):
    """`ConsumerConfig`. `group_protocol`: how members meet, "classic" or (KIP-848) "consumer"."""

    group_id: str = ""
    group_instance_id: str = ""
    group_protocol: str = CLASSIC
    group_remote_assignor: str = ""
    auto_offset_reset: str = "latest"
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    max_poll_records: int = 500
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    isolation_level: str = "read_uncommitted"
    check_crcs: bool = True
    client_rack: str = ""
    default_api_timeout_ms: int = 60_000
    allow_auto_create_topics: bool = True
    broker_version_fallback: str = ""
    partition_assignment_strategy: list[str] = field(default_factory=lambda: ["range", "cooperative-sticky"])

    def check(self, given: Mapping[str, Any]) -> None:
        """Words that have only a few values, and heartbeats that must be shorter than the session."""
        reset, by_duration = self.auto_offset_reset, self.reset_back_ms is not None
        if reset not in ("earliest", "latest", "none") and not by_duration:
            raise _not_among("auto.offset.reset", reset, "earliest", "latest", "none", f"{BY_DURATION}PnDTnHnMn.nS")
        if self.isolation_level not in ("read_uncommitted", "read_committed"):
            raise _not_among("isolation.level", self.isolation_level, "read_uncommitted", "read_committed")
        _check_release(self.broker_version_fallback)
        if self.broker_version_fallback and self.isolation_level == "read_committed":
            raise SettingsError(problem("old_client", name="isolation.level"), FALLBACK, "isolation.level")
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise SettingsError(problem("heartbeat_interval"), "heartbeat.interval.ms", "session.timeout.ms")
        self._check_protocol(given)

    def _check_protocol(self, given: Mapping[str, Any]) -> None:
        """Each protocol has settings that mean nothing in the other one."""
        self.group_protocol = self.group_protocol.lower()
        if self.group_protocol not in (CLASSIC, CONSUMER):
            raise _not_among(GROUP_PROTOCOL, self.group_protocol, CLASSIC, CONSUMER)
        foreign = CLASSIC_ONLY if self.group_protocol == CONSUMER else ("group.remote.assignor",)
        for name in foreign:
            if given.get(name):
                raise SettingsError(problem("of_other_protocol", name=name, protocol=self.group_protocol), name)

    @property
    def reset_back_ms(self) -> int | None:
        """With `auto.offset.reset=by_duration:PT1H` (KIP-1106): so many milliseconds before now."""
        name, given, duration = self.auto_offset_reset.partition(BY_DURATION)
        return duration_ms(duration) if given and not name else None


@dataclass(slots=True)
class ShareConsumerSettings(ClientSettings):
    """`ShareConsumerConfig` (KIP-932): where a group begins and how long a lock lasts is the group's own setting."""

    group_id: str = ""
    share_acknowledgement_mode: str = "implicit"
    share_acquire_mode: str = "batch_optimized"
    max_poll_interval_ms: int = 300_000
    max_poll_records: int = 500
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 52_428_800
    check_crcs: bool = True
    default_api_timeout_ms: int = 60_000
    allow_auto_create_topics: bool = True

    def check(self, given: Mapping[str, Any]) -> None:
        """Words that have only two values each, and a group."""
        for name, known in (
            (ACKNOWLEDGEMENT_MODE, ("implicit", EXPLICIT)), ("share.acquire.mode", ("batch_optimized", "record_limit")),
        ):  # fmt: skip
            value = getattr(self, name.replace(".", "_"))
            if value not in known:
                raise _not_among(name, value, *known)
        if not self.group_id:
            raise SettingsError(problem("worker_needs_group_id"), "group.id")


@dataclass(slots=True)
class AdminSettings(ClientSettings):
    """`AdminClientConfig`."""

    default_api_timeout_ms: int = 60_000
    retries: int = 2_147_483_647


Settings = TypeVar("Settings", bound=ClientSettings)


def names(kind: type[ClientSettings]) -> dict[str, str]:
    """Kafka's name -> field name."""
    return {one.name.replace("_", "."): one.name for one in fields(kind)}


def parse(kind: type[Settings], given: Mapping[str, Any]) -> Settings:
    """Settings from text or plain values by Kafka's names; raises `SettingsError` naming the setting."""
    known = names(kind)
    settings = kind()
    for name, value in given.items():
        if name not in known:
            _unknown(name, known)
        setattr(settings, known[name], _value(name, value, getattr(settings, known[name])))
    settings.check(given)
    return settings


def halves(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of a process with a consumer and a producer, for each of the two: what both know goes to both."""
    reads, writes = names(ConsumerSettings), names(ProducerSettings)
    for name in given:
        if name not in reads and name not in writes:
            _unknown(name, {**reads, **writes})
    return (
        {name: value for name, value in given.items() if name in reads},
        {name: value for name, value in given.items() if name in writes},
    )


def _unknown(name: str, known: Mapping[str, str]) -> NoReturn:
    close = get_close_matches(name, known, 1)
    meant = problem("unknown_setting_close", name=name, close=close[0]) if close else None
    raise SettingsError(meant or problem("unknown_setting", name=name), name)


def _value(name: str, value: Any, default: Any) -> Any:
    if name == "acks" and str(value) == "all":
        return -1
    if isinstance(default, bool):
        if str(value).lower() not in ("true", "false"):
            raise SettingsError(problem("setting_truth", name=name, given=str(value)), name)
        return str(value).lower() == "true"
    if isinstance(default, int):
        try:
            return int(str(value))
        except ValueError:
            raise SettingsError(problem("setting_whole", name=name, given=str(value)), name) from None
    if isinstance(default, list):
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else [str(v) for v in value]
    return str(value)
