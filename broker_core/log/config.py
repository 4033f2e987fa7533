"""Settings of one log: Kafka's topic-level configs with Kafka's defaults.

The field `segment_bytes` is the config `segment.bytes`; `LogConfig.from_strings` takes the dotted
names. Whoever knows broker-wide settings (`log.retention.hours`) resolves them first: this class
sees topic names only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from crc32c import crc32c

from broker_core.log.errors import InvalidConfig
from broker_core.log.releases import magic_of
from broker_core.records.compression import BY_NAME, DEFAULT_BOUND, GZIP, LZ4, ZSTD
from broker_core.records.record_rules import CREATE_TIME
from broker_core.records.validate import LOG_APPEND_TIME, LONG_MAX, ValidationRules

DECOMPRESSED_LEAST = 32 * 1024 * 1024
"""What any batch may decompress to: all that a producer holds by default (`buffer.memory`)."""
DAY_MS = 24 * 60 * 60 * 1000
INFINITE = -1
_TIMESTAMP_TYPES = {"CreateTime": CREATE_TIME, "LogAppendTime": LOG_APPEND_TIME}


def _delete_only() -> list[str]:
    return ["delete"]


@dataclass(slots=True)
class LogConfig:
    """Sizes in bytes, times in milliseconds; -1 (or the largest int64) means no limit, as in Kafka."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = INFINITE
    local_retention_ms: int = -2
    local_retention_bytes: int = -2
    remote_storage_enable: bool = False
    max_message_bytes: int = 1024 * 1024 + 12
    min_insync_replicas: int = 1
    cleanup_policy: list[str] = field(default_factory=_delete_only)
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: str = "CreateTime"
    message_timestamp_difference_max_ms: int = LONG_MAX
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_after_max_ms: int = LONG_MAX
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    file_delete_delay_ms: int = 60 * 1000
    unclean_leader_election_enable: bool = False
    delete_retention_ms: int = DAY_MS
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    preallocate: bool = False
    message_format_version: str = "3.0-IV1"
    message_downconversion_enable: bool = True
    leader_replication_throttled_replicas: str = ""
    follower_replication_throttled_replicas: str = ""

    @classmethod
    def from_strings(cls, configs: Mapping[str, str], base: LogConfig | None = None) -> LogConfig:
        """From {"segment.bytes": "1048576", ...}; what is not named comes from `base` or the defaults.

        Raises InvalidConfig for an unknown name or an impossible value.
        """
        values = {name: getattr(base, name) for name in FIELD_NAMES} if base is not None else {}
        for dotted, text in configs.items():
            name = dotted.replace(".", "_")
            if name not in FIELD_NAMES or "_" in dotted:
                raise InvalidConfig(f"Unknown topic config name: {dotted}")
            values[name] = _parse(dotted, FIELD_NAMES[name], text)
        config = cls(**values)
        config.check()
        return config

    def check(self) -> None:
        """Raise InvalidConfig where a value is outside Kafka's bounds."""
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise _invalid(name, getattr(self, name), f"Value must be at least {least}")
        if self.compression_type != "producer" and self.compression_type not in BY_NAME:
            raise _invalid("compression_type", self.compression_type, "String must be one of: "
                           "uncompressed, zstd, lz4, snappy, gzip, producer")  # fmt: skip
        if self.message_timestamp_type not in _TIMESTAMP_TYPES:
            raise _invalid("message_timestamp_type", self.message_timestamp_type,
                           "String must be one of: CreateTime, LogAppendTime")  # fmt: skip
        if any(policy not in ("delete", "compact") for policy in self.cleanup_policy):
            raise _invalid("cleanup_policy", ",".join(self.cleanup_policy), "String must be one of: compact, delete")
        if not 0 <= self.min_cleanable_dirty_ratio <= 1:
            raise _invalid("min_cleanable_dirty_ratio", self.min_cleanable_dirty_ratio, "Value must be between 0 and 1")

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def magic(self) -> int:
        """The format that the log is written in (`message.format.version`; see `metadata.message_formats`)."""
        return magic_of(self.message_format_version)

    @property
    def is_deleted(self) -> bool:
        """Whether retention by time and size applies."""
        return "delete" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """Age at which a segment is rolled: what must be compacted soon must not stay active for long (KIP-354)."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms

    def validation_rules(self) -> ValidationRules:
        """What `validate_batches` needs of these settings. The difference both ways is the older setting: it counts
        where the newer one for that direction has its default (KIP-937)."""
        before, after = self.message_timestamp_before_max_ms, self.message_timestamp_after_max_ms
        codec = BY_NAME.get(self.compression_type)
        return ValidationRules(
            max_message_bytes=self.max_message_bytes,
            segment_bytes=self.segment_bytes,
            timestamp_type=_TIMESTAMP_TYPES[self.message_timestamp_type],
            before_max_ms=self.message_timestamp_difference_max_ms if before == LONG_MAX else before,
            after_max_ms=self.message_timestamp_difference_max_ms if after == LONG_MAX else after,
            compacted=self.is_compacted,
            compression=codec,
            magic=self.magic,
            level=self._levels().get(codec) if codec is not None else None,
            decompressed_bound=min(DEFAULT_BOUND, max(DECOMPRESSED_LEAST, 4 * self.max_message_bytes)),
        )

    def _levels(self) -> dict[int, int]:
        return {GZIP: self.compression_gzip_level, LZ4: self.compression_lz4_level, ZSTD: self.compression_zstd_level}

    def roll_jitter_ms(self, log_name: str, base_offset: int) -> int:
        """By how much earlier a segment is rolled, lest many roll at once; the same in every run."""
        if not self.segment_jitter_ms:
            return 0
        seed: int = crc32c(f"{log_name}/{base_offset}".encode())
        return seed % (min(self.segment_jitter_ms, self.segment_ms) + 1)


_DEFAULTS = LogConfig()
FIELD_NAMES: dict[str, str] = {one.name: type(getattr(_DEFAULTS, one.name)).__name__ for one in fields(LogConfig)}
"""Field name -> name of its default's type, in order."""

_LEAST = {
    "segment_bytes": 14, "segment_ms": 1, "segment_jitter_ms": 0, "segment_index_bytes": 4, "index_interval_bytes": 0,
    "retention_ms": -1, "retention_bytes": -1, "local_retention_ms": -2, "local_retention_bytes": -2,
    "max_message_bytes": 0, "min_insync_replicas": 1, "message_timestamp_difference_max_ms": 0,
    "message_timestamp_before_max_ms": 0, "message_timestamp_after_max_ms": 0, "flush_messages": 1, "flush_ms": 0,
    "file_delete_delay_ms": 0, "delete_retention_ms": 0, "min_compaction_lag_ms": 0, "max_compaction_lag_ms": 1,
}  # fmt: skip


def _parse(dotted: str, kind: str, text: str) -> object:
    text = str(text).strip()
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
    except ValueError:
        raise _invalid(dotted, text, f"Not a number of type {kind.upper()}") from None
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise _invalid(dotted, text, "Expected value to be either true or false")
        return text.lower() == "true"
    if kind == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _invalid(name: str, value: object, why: str) -> InvalidConfig:
    return InvalidConfig(f"Invalid value {value} for configuration {name.replace('_', '.')}: {why}")
