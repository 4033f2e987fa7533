"""What the fields of requests and responses mean, in both languages, by their last name.

A field that stands in no table is told by its type alone: its name says what it holds, and the protocol guide
("Protocol requests") says the rest. `topics[0].partitions[1].fetchOffset` is looked up as `fetchOffset`.
"""

from __future__ import annotations

MEANINGS: dict[str, tuple[str, str]] = {
    "size": ("Bytes that follow: each message on a connection begins with its length.",
             "뒤따르는 바이트 수. 연결 위의 메시지는 모두 길이로 시작합니다."),
    "apiKey": ("Which request this is.", "어떤 요청인지 나타냅니다."),
    "apiVersion": ("Version of the request; both sides must know it, so ApiVersions asks first.",
                   "요청의 버전. 양쪽 모두 알아야 하므로 ApiVersions로 먼저 묻습니다."),
    "correlationId": ("Chosen by the sender; the answer carries the same number.",
                      "보내는 쪽이 정하며 응답이 같은 번호를 되돌려 줍니다."),
    "clientId": ("Name that the client gives itself: for logs, quotas and this screen.",
                 "클라이언트가 스스로 붙인 이름. 로그와 할당량, 이 화면에 쓰입니다."),
    "header tags": ("Tagged fields of the header; 0: none (KIP-482).", "헤더의 태그 필드. 0이면 없음(KIP-482)."),
    "tags": ("Tagged fields: number, then tag, size and value of each; 0: none (KIP-482).",
             "태그 필드. 개수, 이어서 각각의 태그, 크기, 값. 0이면 없음(KIP-482)."),
    "errorCode": ("0 (NONE): it went well.", "0(NONE)이면 잘된 것입니다."),
    "errorMessage": ("Why it failed, for people; null: nothing to say.",
                     "실패한 까닭을 사람에게 알리는 글. 없으면 null."),
    "throttleTimeMs": ("How long the client is to wait because of a quota, milliseconds.",
                       "할당량 때문에 클라이언트가 기다릴 시간(밀리초)."),
    "acks": ("Whom the answer waits for: 0 nobody, 1 the leader, -1 every in-sync replica.",
             "응답이 무엇을 기다리는지. 0은 아무도, 1은 리더, -1은 동기화된 모든 복제본."),
    "timeoutMs": ("How long the broker may wait for it, milliseconds.", "브로커가 기다려도 되는 시간(밀리초)."),
    "transactionalId": ("Name of the transactional producer; null: no transaction.",
                        "트랜잭션 프로듀서의 이름. 트랜잭션이 아니면 null."),
    "replicaId": ("Broker id of the follower that asks; -1: a consumer.", "요청한 팔로워의 브로커 ID. 컨슈머면 -1."),
    "replicaEpoch": ("Epoch of the asking broker; -1: none.", "요청한 브로커의 에포크. 없으면 -1."),
    "maxWaitMs": ("How long the leader may wait until there is enough, milliseconds.",
                  "충분한 데이터가 모일 때까지 리더가 기다려도 되는 시간(밀리초)."),
    "minBytes": ("The answer waits until there are so many bytes.", "이만큼의 바이트가 모일 때까지 응답이 기다립니다."),
    "maxBytes": ("No more than so many bytes in the answer.", "응답에 담을 수 있는 최대 바이트 수."),
    "partitionMaxBytes": ("No more than so many bytes of this partition.",
                          "이 파티션에서 담을 수 있는 최대 바이트 수."),
    "isolationLevel": ("0: all committed by replication; 1: no open or aborted transactions.",
                       "0이면 복제로 커밋된 것 모두, 1이면 끝나지 않았거나 취소된 트랜잭션은 뺍니다."),
    "sessionId": ("Fetch session (KIP-227); 0: none.", "페치 세션(KIP-227). 없으면 0."),
    "sessionEpoch": ("Number of the request within its fetch session; -1: no session.",
                     "페치 세션 안에서 몇 번째 요청인지. 세션이 없으면 -1."),
    "fetchOffset": ("The next offset wanted. From a follower it tells the leader what is replicated.",
                    "다음에 읽을 오프셋. 팔로워의 것이면 리더는 어디까지 복제되었는지 압니다."),
    "logStartOffset": ("Lowest offset that is kept.", "남아 있는 가장 낮은 오프셋."),
    "currentLeaderEpoch": ("Leader epoch that the sender knows: an older one is fenced.",
                           "보내는 쪽이 아는 리더 에포크. 옛 에포크면 거부됩니다."),
    "lastFetchedEpoch": ("Epoch of the follower's last batch: so diverging logs are found.",
                         "팔로워 마지막 배치의 에포크. 로그가 갈라진 곳을 찾는 데 씁니다."),
    "leaderEpoch": ("Grows with each leader of the partition.", "파티션의 리더가 바뀔 때마다 커집니다."),
    "highWatermark": ("Below this offset everything is on all in-sync replicas.",
                      "이 오프셋 아래는 동기화된 모든 복제본에 있습니다."),
    "lastStableOffset": ("Below this offset no transaction is open.", "이 오프셋 아래에는 열린 트랜잭션이 없습니다."),
    "abortedTransactions": ("Transactions whose records a read_committed consumer skips.",
                            "read_committed 컨슈머가 건너뛸 취소된 트랜잭션."),
    "preferredReadReplica": ("A nearer replica to read from; -1: the leader.",
                             "대신 읽을 더 가까운 복제본. 리더면 -1."),
    "baseOffset": ("Offset that the first record of the batch got.", "배치의 첫 레코드가 받은 오프셋."),
    "logAppendTimeMs": ("When the broker appended it; -1: the producer's own times are kept.",
                        "브로커가 추가한 시각. 프로듀서가 적은 시각을 쓰면 -1."),
    "records": ("Record batches, the same bytes as in the segment.", "레코드 배치. 세그먼트 파일과 같은 바이트입니다."),
    "name": ("Name of the topic, group or setting.", "토픽이나 그룹, 설정의 이름."),
    "topic": ("Name of the topic.", "토픽 이름."),
    "topicId": ("Id of the topic (KIP-516).", "토픽 ID(KIP-516)."),
    "partition": ("Number of the partition.", "파티션 번호."),
    "partitionIndex": ("Number of the partition.", "파티션 번호."),
    "index": ("Number of the partition.", "파티션 번호."),
    "controllerId": ("Broker that is the controller.", "컨트롤러인 브로커."),
    "controllerEpoch": ("Epoch of the controller: brokers refuse an older one.",
                        "컨트롤러 에포크. 브로커는 더 오래된 것을 거부합니다."),
    "brokerEpoch": ("Epoch of the broker's registration.", "브로커 등록의 에포크."),
    "brokerId": ("Id of the broker.", "브로커 ID."),
    "leader": ("Broker that leads; -1: nobody.", "리더인 브로커. 없으면 -1."),
    "leaderId": ("Broker that leads; -1: nobody.", "리더인 브로커. 없으면 -1."),
    "isr": ("In-sync replicas.", "동기화된 복제본(ISR)."),
    "newIsr": ("The in-sync replicas that the leader asks for.", "리더가 바라는 동기화된 복제본(ISR)."),
    "replicas": ("All replicas, in order of assignment.", "모든 복제본. 할당 순서대로입니다."),
    "partitionEpoch": ("Grows with each change of the partition's state.", "파티션 상태가 바뀔 때마다 커집니다."),
    "groupId": ("Name of the consumer group.", "컨슈머 그룹의 이름."),
    "memberId": ("Member of the group; empty in its first request.", "그룹 멤버의 ID. 첫 요청에서는 비어 있습니다."),
    "generationId": ("Generation of the group: it grows with each rebalance.", "그룹의 세대. 리밸런스마다 커집니다."),
    "generationIdOrMemberEpoch": ("Generation of the group: it grows with each rebalance.",
                                  "그룹의 세대. 리밸런스마다 커집니다."),
    "sessionTimeoutMs": ("Without a heartbeat for so long the member is out, milliseconds.",
                         "이 시간 동안 하트비트가 없으면 그룹에서 빠집니다(밀리초)."),
    "rebalanceTimeoutMs": ("How long members have to join again, milliseconds.",
                           "멤버가 다시 참여할 때까지 기다리는 시간(밀리초)."),
    "committedOffset": ("The next offset that the group will read.", "그룹이 다음에 읽을 오프셋."),
    "host": ("Where the broker can be reached.", "브로커에 닿는 주소."),
    "port": ("Where the broker can be reached.", "브로커에 닿는 포트."),
    "rack": ("The broker's rack; null: none given.", "브로커의 랙. 지정하지 않았으면 null."),
}  # fmt: skip

_PLAIN: dict[str, tuple[str, str]] = {
    "count": ("How many entries follow; -1: null.", "뒤따르는 항목의 수. null이면 -1."),
    "present": ("Whether it is there at all.", "값이 있는지를 나타냅니다."),
    "length": ("Bytes of record batches that follow.", "뒤따르는 레코드 배치의 바이트 수."),
}  # fmt: skip


def meaning(name: str, kind: str) -> tuple[str, str]:
    """(English, Korean) of a field's name; both empty where the type says it all."""
    path, _, suffix = name.rpartition(" ")
    if path and suffix in _PLAIN:
        return _PLAIN[suffix]
    if kind == "tagged fields":
        return MEANINGS["header tags" if name == "header tags" else "tags"]
    last = name.rpartition(".")[2].partition("[")[0]
    return MEANINGS.get(last, ("", ""))
