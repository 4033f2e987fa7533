"""Settings of the metadata quorum, with Kafka's names and defaults (QuorumConfig, MetadataLogConfig).

| setting | default | what waits for it |
|---|---|---|
| `controller.quorum.election.timeout.ms` | 1,000 | unattached, candidate: this to twice this, drawn each time |
| `controller.quorum.fetch.timeout.ms` | 2,000 | follower without an answer; leader without a majority: 1.5 times |
| `controller.quorum.election.backoff.max.ms` | 1,000 | the last of the successors that a resigning leader names |
| `controller.quorum.append.linger.ms` | 25 | records wait for others before they are written |
| `controller.quorum.request.timeout.ms` | 2,000 | a request without an answer |
| `controller.quorum.retry.backoff.ms` | 20 | after a request that failed |
| `controller.quorum.fetch.max.bytes`, `.snapshot.max.bytes` | 1 MiB | what one answer may hold, a batch at least |
| `controller.quorum.auto.join.enable` | false | a controller without a vote asks for one each fetch timeout |
| `metadata.log.segment.bytes` | 1 GiB | |
| `metadata.log.max.record.bytes.between.snapshots` | 20 MiB | the controller's and each broker's next snapshot |
| `metadata.log.max.snapshot.interval.ms` | 3,600,000 | the same |
| `metadata.max.retention.bytes`, `.ms` | 100 MiB, 7 d | old snapshots, and the log below them |

`MOST_LATE_US`: a process notices a little late that a timeout is over, one more than another. Here two followers may
have heard from their leader in the same microsecond: without this they would ask for votes in the same one, too, and
split them each time, which costs an election timeout. Of Kafka 4.3 on two cores one was 2 to 44 ms behind the other.

`TICK_US`: how much later a Fetch without news is answered than it asked for; Kafka's timer has ticks of 1 ms. An idle
cluster writes a no-op record as often as such a Fetch gives up (`metadata.max.idle.interval.ms` is 500, too): over
links that take no time both would happen in the same microsecond, and each Fetch end for nothing before its record.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_BATCH_BYTES = 8 * 1024 * 1024
MOST_READ_BYTES = 8 * 1024 * 1024
MAX_FETCH_WAIT_MS = 500
MOST_LATE_US = 50_000
TICK_US = 1_000
CHECK_QUORUM_FACTOR = 1.5
OBSERVER_SESSION_TIMEOUT_MS = 300_000
CAUGHT_UP_WITHIN_MS = 3_600_000
CLEANING_INTERVAL_MS = 60_000


@dataclass(slots=True)
class QuorumSettings:
    """See the module; times in milliseconds, sizes in bytes. Timeouts and intervals above 0."""

    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000
    append_linger_ms: int = 25
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_bytes: int = 1 << 20
    fetch_snapshot_max_bytes: int = 1 << 20
    auto_join: bool = False
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3_600_000
    max_retention_bytes: int = 100 * 1024 * 1024
    max_retention_ms: int = 7 * 24 * 3_600_000
