"""The log: how a broker keeps a partition on disk.

Read in this order: `segment` (three files), `offset_index`, `time_index`, `partition_log` (segments
in a row), `epochs`, `producers`, `recovery`, `retention`, `truncation`, `log_manager` (all logs of a
broker), `dump` (a look into the files).
"""

from broker_core.log.config import LogConfig
from broker_core.log.epochs import LeaderEpochCache
from broker_core.log.errors import (
    DuplicateSequence,
    InvalidConfig,
    InvalidProducerEpoch,
    LogError,
    OffsetOutOfRange,
    OffsetsNotMonotonic,
    OutOfOrderSequence,
)
from broker_core.log.facts import AppendInfo
from broker_core.log.log_manager import LogManager
from broker_core.log.partition_log import PartitionLog
from broker_core.log.producers import ProducerStateTable
from broker_core.log.segment import LogRead, LogSegment

__all__ = [
    "AppendInfo",
    "DuplicateSequence",
    "InvalidConfig",
    "InvalidProducerEpoch",
    "LeaderEpochCache",
    "LogConfig",
    "LogError",
    "LogManager",
    "LogRead",
    "LogSegment",
    "OffsetOutOfRange",
    "OffsetsNotMonotonic",
    "OutOfOrderSequence",
    "PartitionLog",
    "ProducerStateTable",
]
