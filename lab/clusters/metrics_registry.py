"""What each of Kafka's metrics says: name, kind, unit, meaning in both languages.

`normal`: the value that an operator wants to see, None where there is none. Names without topic, partition,
request, operation and group; `clusters.metrics` says which of them come per what. `only`: the generation whose
brokers have it, "" where both have.
"""

from __future__ import annotations

from dataclasses import dataclass

GAUGE, METER, TIME = "gauge", "meter", "time"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the registry."""

    name: str
    kind: str
    unit: str
    en: str
    ko: str
    normal: float | None = None
    only: str = ""

    def to_dict(self) -> dict[str, object]:
        """Plain data for pages."""
        return {
            "name": self.name, "kind": self.kind, "unit": self.unit, "en": self.en, "ko": self.ko,
            "normal": self.normal, "only": self.only,
        }  # fmt: skip


REGISTRY: dict[str, Metric] = {}


def _metric(
    name: str, kind: str, unit: str, en: str, ko: str, normal: float | None = None, only: str = ""
) -> None:
    REGISTRY[name] = Metric(name, kind, unit, en, ko, normal, only)


_REPLICAS, _TOPICS = "kafka.server:type=ReplicaManager,name=", "kafka.server:type=BrokerTopicMetrics,name="
_CONTROLLER, _STATS = "kafka.controller:type=KafkaController,name=", "kafka.controller:type=ControllerStats,name="
_REQUESTS, _LOG = "kafka.network:type=RequestMetrics,name=", "kafka.log:type=Log,name="

_metric(_REPLICAS + "LeaderCount", GAUGE, "partitions",
        "Partitions that this broker leads.",
        "이 브로커가 리더인 파티션 수.")  # fmt: skip
_metric(_REPLICAS + "PartitionCount", GAUGE, "partitions",
        "Replicas on this broker, led or followed.",
        "이 브로커에 있는 복제본 수(리더와 팔로워 모두).")  # fmt: skip
_metric(_REPLICAS + "UnderReplicatedPartitions", GAUGE, "partitions",
        "Partitions led here whose ISR is smaller than their set of replicas.",
        "이 브로커가 리더이고 ISR이 전체 복제본보다 적은 파티션 수.", 0)  # fmt: skip
_metric(_REPLICAS + "UnderMinIsrPartitionCount", GAUGE, "partitions",
        "Partitions led here whose ISR is smaller than min.insync.replicas: acks=all is refused.",
        "리더가 여기 있고 ISR이 min.insync.replicas보다 적은 파티션 수. acks=all이 거부됩니다.", 0)  # fmt: skip
_metric(_REPLICAS + "AtMinIsrPartitionCount", GAUGE, "partitions",
        "Partitions led here whose ISR is exactly min.insync.replicas: one more loss blocks acks=all.",
        "리더가 여기 있고 ISR이 min.insync.replicas와 같은 파티션 수. 하나 더 잃으면 acks=all이 막힙니다.")  # fmt: skip
_metric(_REPLICAS + "ReassigningPartitions", GAUGE, "partitions",
        "Partitions led here that are moving to other brokers.",
        "리더가 여기 있고 다른 브로커로 재할당 중인 파티션 수.", 0)  # fmt: skip
_metric(_REPLICAS + "PartitionsWithLateTransactionsCount", GAUGE, "partitions",
        "Partitions led here with a transaction that is open for longer than any may be: it hangs (KIP-664).",
        "리더가 여기 있고, 허용된 시간보다 오래 열려 있는(멈춘) 트랜잭션이 있는 파티션 수(KIP-664).", 0)  # fmt: skip
_metric(_REPLICAS + "ProducerIdCount", GAUGE, "producers",
        "Producer ids that the replicas here remember, counted in each partition.",
        "이 브로커의 복제본이 기억하는 프로듀서 ID 수(파티션마다 셈).")  # fmt: skip
_metric(_REPLICAS + "OfflineReplicaCount", GAUGE, "replicas",
        "Replicas here that are stopped, or whose disk has failed.",
        "이 브로커에서 중지되었거나 디스크가 고장 난 복제본 수.", 0)  # fmt: skip
_metric(_REPLICAS + "IsrShrinksPerSec", METER, "changes",
        "Changes by which a replica left an ISR.",
        "복제본이 ISR에서 빠진 변경 횟수.")  # fmt: skip
_metric(_REPLICAS + "IsrExpandsPerSec", METER, "changes",
        "Changes by which a replica joined an ISR.",
        "복제본이 ISR에 들어온 변경 횟수.")  # fmt: skip
_metric(_REPLICAS + "FailedIsrUpdatesPerSec", METER, "changes",
        "Changes of an ISR that the controller refused.",
        "컨트롤러가 거부한 ISR 변경 횟수.", 0)  # fmt: skip
_metric("kafka.log:type=LogManager,name=OfflineLogDirectoryCount", GAUGE, "directories",
        "Log directories that have failed.",
        "고장 난 로그 디렉터리 수.", 0)  # fmt: skip
_metric("kafka.log:type=LogCleanerManager,name=max-dirty-percent", GAUGE, "percent",
        "Dirty ratio of the dirtiest compacted log when the cleaner last looked.",
        "정리기가 마지막으로 살폈을 때 압축 정리 로그들의 가장 높은 미정리 비율(%).")  # fmt: skip
_metric("kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count", GAUGE, "partitions",
        "Compacted logs that the cleaner leaves alone, because a batch in them is damaged.",
        "배치가 손상되어 정리기가 건드리지 않는 압축 정리 로그 수.", 0)  # fmt: skip
_metric("kafka.log:type=LogCleaner,name=cleaner-recopy-percent", GAUGE, "percent",
        "Bytes that the last cleaning kept, of those that it looked at.",
        "마지막 정리에서 살펴본 바이트 가운데 남긴 비율(%).")  # fmt: skip
_metric("kafka.log:type=LogCleaner,name=max-buffer-utilization-percent", GAUGE, "percent",
        "How full the offset map of the last cleaning was.",
        "마지막 정리에서 오프셋 맵이 찬 비율(%).")  # fmt: skip
_metric(_TOPICS + "MessagesInPerSec", METER, "records",
        "Records that producers have written here.",
        "프로듀서가 이 브로커에 쓴 레코드 수.")  # fmt: skip
_metric(_TOPICS + "BytesInPerSec", METER, "bytes",
        "Bytes that producers have written here.",
        "프로듀서가 이 브로커에 쓴 바이트 수.")  # fmt: skip
_metric(_TOPICS + "BytesOutPerSec", METER, "bytes",
        "Bytes that consumers have fetched here.",
        "컨슈머가 이 브로커에서 가져간 바이트 수.")  # fmt: skip
_metric(_TOPICS + "ReplicationBytesInPerSec", METER, "bytes",
        "Bytes that this broker has copied from leaders.",
        "이 브로커가 리더에게서 복사해 온 바이트 수.")  # fmt: skip
_metric(_TOPICS + "ReplicationBytesOutPerSec", METER, "bytes",
        "Bytes that followers have copied from this broker.",
        "팔로워가 이 브로커에서 복사해 간 바이트 수.")  # fmt: skip
_metric(_TOPICS + "ReassignmentBytesInPerSec", METER, "bytes",
        "Bytes that replicas which are being added here have copied, of those of all replicas here.",
        "이 브로커의 복제본이 복사해 온 바이트 가운데 새로 추가하는 복제본의 몫.")  # fmt: skip
_metric(_TOPICS + "ReassignmentBytesOutPerSec", METER, "bytes",
        "Bytes that replicas which are being added elsewhere have copied from this broker.",
        "다른 브로커에 새로 추가하는 복제본이 이 브로커에서 복사해 간 바이트 수.")  # fmt: skip
_metric("kafka.server:type=LeaderReplication,name=byte-rate", GAUGE, "bytes/s",
        "What followers take of throttled replicas led here.",
        "이 브로커가 리더이고 속도를 제한한 복제본에서 팔로워가 가져가는 초당 바이트 수.")  # fmt: skip
_metric("kafka.server:type=FollowerReplication,name=byte-rate", GAUGE, "bytes/s",
        "What the throttled followers here copy from their leaders.",
        "이 브로커에서 속도를 제한한 팔로워가 리더에게서 복사하는 초당 바이트 수.")  # fmt: skip
_metric("kafka.server:type=AlterLogDirsReplication,name=byte-rate", GAUGE, "bytes/s",
        "What is copied here from one log directory to another.",
        "이 브로커에서 한 로그 디렉터리에서 다른 로그 디렉터리로 복사하는 초당 바이트 수.")  # fmt: skip
_metric(_TOPICS + "ProduceMessageConversionsPerSec", METER, "records",
        "Records that came in an old format and were converted before they were written.",
        "옛 형식으로 와서 기록하기 전에 변환한 레코드 수.", 0)  # fmt: skip
_metric(_TOPICS + "FetchMessageConversionsPerSec", METER, "records",
        "Records that were converted to an old format for a consumer that reads no other: no zero copy for them.",
        "옛 형식만 읽는 컨슈머를 위해 변환한 레코드 수. 이 레코드에는 제로 카피를 쓸 수 없습니다.", 0)  # fmt: skip
_metric(_CONTROLLER + "ActiveControllerCount", GAUGE, "controllers",
        "1 on the broker that is controller; the sum over all brokers should be 1.",
        "컨트롤러인 브로커에서 1. 모든 브로커의 합은 1이어야 합니다.")  # fmt: skip
_metric(_CONTROLLER + "OfflinePartitionsCount", GAUGE, "partitions",
        "Partitions without a leader that works.",
        "동작하는 리더가 없는 파티션 수.", 0)  # fmt: skip
_metric(_CONTROLLER + "PreferredReplicaImbalanceCount", GAUGE, "partitions",
        "Partitions that are not led by their first replica.",
        "첫 번째 복제본이 리더가 아닌 파티션 수.", 0)  # fmt: skip
_metric(_CONTROLLER + "GlobalTopicCount", GAUGE, "topics",
        "Topics that the controller knows.",
        "컨트롤러가 아는 토픽 수.")  # fmt: skip
_metric(_CONTROLLER + "GlobalPartitionCount", GAUGE, "partitions",
        "Partitions that the controller knows.",
        "컨트롤러가 아는 파티션 수.")  # fmt: skip
_metric(_STATS + "LeaderElectionRateAndTimeMs", METER, "events",
        "Changes of the set of live brokers that the controller has dealt with (its name is older than its meaning).",
        "컨트롤러가 처리한 브로커 변경 횟수(이름이 뜻보다 오래되었습니다).", only="zookeeper")  # fmt: skip
_metric(_CONTROLLER + "ActiveBrokerCount", GAUGE, "brokers",
        "Brokers that are registered and not fenced.",
        "등록되어 있고 격리되지 않은 브로커 수.", only="kraft")  # fmt: skip
_metric(_CONTROLLER + "FencedBrokerCount", GAUGE, "brokers",
        "Brokers that are registered and fenced: silent, on their way out, or behind in the metadata log.",
        "등록되어 있지만 격리된 브로커 수. 소식이 없거나 나가는 중이거나 메타데이터 로그에서 뒤처져 있습니다.",
        0, "kraft")  # fmt: skip
_metric("kafka.server:type=broker-metadata-metrics,name=last-applied-record-offset", GAUGE, "offset",
        "How far in the metadata log this broker has gone.",
        "이 브로커가 메타데이터 로그를 어디까지 반영했는지 나타내는 오프셋.", only="kraft")  # fmt: skip
_metric("kafka.server:type=raft-metrics,name=current-epoch", GAUGE, "epoch",
        "The newest epoch of the metadata quorum that this process knows.",
        "이 프로세스가 아는 메타데이터 쿼럼의 가장 새 에포크.", only="kraft")  # fmt: skip
_metric("kafka.server:type=raft-metrics,name=log-end-offset", GAUGE, "offset",
        "Where the copy of the metadata log ends here.",
        "이곳에 있는 메타데이터 로그 사본의 끝 오프셋.", only="kraft")  # fmt: skip
_metric("kafka.server:type=raft-metrics,name=high-watermark", GAUGE, "offset",
        "How far the metadata log is committed, as this process knows it; -1: it does not know.",
        "이 프로세스가 아는 메타데이터 로그의 커밋된 오프셋. -1이면 알지 못합니다.", only="kraft")  # fmt: skip
_metric(_STATS + "UncleanLeaderElectionsPerSec", METER, "elections",
        "Elections of a leader that was not in the ISR: committed records may be lost.",
        "ISR 밖의 복제본을 리더로 뽑은 선출 횟수. 커밋된 레코드를 잃을 수 있습니다.", 0)  # fmt: skip
_metric(_REQUESTS + "RequestsPerSec", METER, "requests",
        "Requests that were answered.",
        "응답한 요청 수.")  # fmt: skip
_metric(_REQUESTS + "RequestQueueTimeMs", TIME, "ms",
        "Mean wait in the request queue.",
        "요청 큐에서 기다린 평균 시간.")  # fmt: skip
_metric(_REQUESTS + "LocalTimeMs", TIME, "ms",
        "Mean time on the broker itself.",
        "브로커 자체에서 처리한 평균 시간.")  # fmt: skip
_metric(_REQUESTS + "RemoteTimeMs", TIME, "ms",
        "Mean wait in purgatory: for followers (acks=all), for data (fetch.min.bytes), for members.",
        "퍼거토리에서 기다린 평균 시간. 팔로워(acks=all), 데이터(fetch.min.bytes), 멤버를 기다립니다.")  # fmt: skip
_metric(_REQUESTS + "ResponseQueueTimeMs", TIME, "ms",
        "Mean wait in the response queue.",
        "응답 큐에서 기다린 평균 시간.")  # fmt: skip
_metric(_REQUESTS + "TotalTimeMs", TIME, "ms",
        "Mean time from arrival to answer.",
        "도착부터 응답까지의 평균 시간.")  # fmt: skip
_metric("kafka.network:type=RequestChannel,name=RequestQueueSize", GAUGE, "requests",
        "Requests that wait for a handler thread.",
        "핸들러 스레드를 기다리는 요청 수.")  # fmt: skip
_metric("kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize", GAUGE, "operations",
        "Requests that wait, counted once for each thing that they watch.",
        "대기 중인 요청 수(기다리는 키마다 한 번씩 셉니다).")  # fmt: skip
_metric("kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations", GAUGE, "operations",
        "Requests that wait.",
        "대기 중인 요청 수.")  # fmt: skip
_metric(_LOG + "LogEndOffset", GAUGE, "offset",
        "The offset that the next record gets.",
        "다음 레코드가 받을 오프셋.")  # fmt: skip
_metric(_LOG + "LogStartOffset", GAUGE, "offset",
        "The first offset that is still there.",
        "아직 남아 있는 첫 오프셋.")  # fmt: skip
_metric(_LOG + "Size", GAUGE, "bytes",
        "Bytes of the partition's log files.",
        "파티션 로그 파일의 바이트 수.")  # fmt: skip
_metric(_LOG + "NumLogSegments", GAUGE, "segments",
        "Segments of the partition.",
        "파티션의 세그먼트 수.")  # fmt: skip
_metric("kafka.server:type=ReplicaFetcherManager,name=MaxLag", GAUGE, "records",
        "The largest number of committed records that a follower here lacks.",
        "이 브로커의 팔로워에게 없는 커밋된 레코드 수의 최댓값.", 0)  # fmt: skip
_metric("kafka.server:type=FetcherLagMetrics,name=ConsumerLag", GAUGE, "records",
        "Committed records that this follower lacks.",
        "이 팔로워에게 없는 커밋된 레코드 수.", 0)  # fmt: skip
_metric("kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups", GAUGE, "groups",
        "Groups that this broker coordinates.",
        "이 브로커가 코디네이터인 그룹 수.")  # fmt: skip
_metric("kafka.coordinator.group:type=GroupMetadataManager,name=NumOffsets", GAUGE, "offsets",
        "Committed offsets that this broker keeps.",
        "이 브로커가 보관하는 커밋된 오프셋 수.")  # fmt: skip
_metric("kafka.consumer:type=consumer-groups,name=Lag", GAUGE, "records",
        "Records between a group's committed offset and the high watermark.",
        "그룹의 커밋된 오프셋과 하이 워터마크 사이의 레코드 수.", 0)  # fmt: skip
