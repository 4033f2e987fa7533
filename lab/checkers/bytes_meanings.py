"""What each field of a batch means, in both languages; names are those of `broker_core.records.annotate`.

Fields of a record are named without "record 3 " and "header 0 " here. Source: the protocol guide's section
"Messages", KIP-98 (producer fields), KIP-101 (leader epoch).
"""

from __future__ import annotations

import re

_PREFIX = re.compile(r"^record \d+ ")
_HEADER = re.compile(r"^header \d+ ")

MEANINGS: dict[str, tuple[str, str]] = {
    "baseOffset": ("Offset of the first record; the leader writes it on append.",
                   "첫 레코드의 오프셋. 리더가 추가할 때 씁니다."),
    "batchLength": ("Bytes that follow: the whole size minus 12.", "뒤따르는 바이트 수. 전체 크기에서 12를 뺀 값."),
    "partitionLeaderEpoch": ("Epoch of the leader that appended it; followers cut their logs by it.",
                             "추가한 리더의 에포크. 팔로워는 이것으로 로그를 자릅니다."),
    "magic": ("Format version: 2 since Kafka 0.11.", "형식 버전. Kafka 0.11부터 2."),
    "crc": ("CRC-32C of everything from attributes on; base offset and leader epoch are not covered.",
            "attributes부터 끝까지의 CRC-32C. 기준 오프셋과 리더 에포크는 포함되지 않습니다."),
    "attributes": ("Bits: 0-2 compression, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon.",
                   "비트: 0-2 압축, 3 타임스탬프 종류, 4 트랜잭션, 5 제어, 6 삭제 기한."),
    "lastOffsetDelta": ("Last offset minus base offset; stays when compaction removes records.",
                        "마지막 오프셋에서 기준 오프셋을 뺀 값. 압축 정리 뒤에도 그대로입니다."),
    "baseTimestamp": ("Timestamp of the first record, milliseconds since 1970.",
                      "첫 레코드의 시각(1970년부터 밀리초)."),
    "maxTimestamp": ("Largest timestamp in the batch, or when the broker appended it.",
                     "배치에서 가장 늦은 시각 또는 브로커가 추가한 시각."),
    "producerId": ("Id of the idempotent producer; -1: it has none.", "멱등 프로듀서의 ID. 없으면 -1."),
    "producerEpoch": ("Epoch of the producer id: a newer one fences the older.",
                      "프로듀서 ID의 에포크. 새 에포크가 옛것을 차단합니다."),
    "baseSequence": ("Sequence number of the first record; by it a batch that is sent again is recognised.",
                     "첫 레코드의 시퀀스 번호. 다시 보낸 배치를 이것으로 알아봅니다."),
    "recordCount": ("Records in the batch.", "배치의 레코드 수."),
    "records": ("All records, compressed as one block.", "하나의 블록으로 압축된 모든 레코드."),
    "length": ("Bytes of this record that follow (a varint).", "이 레코드의 뒤따르는 바이트 수(가변 길이 정수)."),
    "record attributes": ("Not used, 0.", "쓰이지 않음, 0."),
    "timestampDelta": ("Timestamp minus base timestamp (a varint).", "시각에서 기준 시각을 뺀 값(가변 길이 정수)."),
    "offsetDelta": ("Offset minus base offset (a varint).", "오프셋에서 기준 오프셋을 뺀 값(가변 길이 정수)."),
    "keyLength": ("Bytes of the key; -1: there is no key.", "키의 바이트 수. 키가 없으면 -1."),
    "key": ("The key: by its hash the producer has chosen the partition.",
            "키. 프로듀서는 키의 해시로 파티션을 고릅니다."),
    "valueLength": ("Bytes of the value; -1: null, a tombstone in a compacted topic.",
                    "값의 바이트 수. -1이면 null이며, 압축 정리 토픽에서는 툼스톤입니다."),
    "value": ("The value.", "값."),
    "headerCount": ("Headers that follow.", "뒤따르는 헤더 수."),
    "offset": ("Offset of the message, of the last one in a compressed wrapper.",
               "메시지의 오프셋. 압축된 묶음이면 마지막 메시지의 오프셋."),
    "size": ("Bytes that follow.", "뒤따르는 바이트 수."),
    "timestamp": ("Milliseconds since 1970.", "1970년부터의 밀리초."),
    "messages": ("The messages of the wrapper, compressed as one block.",
                 "래퍼에 담긴 메시지들. 하나의 블록으로 압축했습니다."),
}  # fmt: skip

OF_MESSAGES: dict[str, tuple[str, str]] = {
    "magic": ("Format version: 0, or 1 (with a time) since Kafka 0.10.",
              "형식 버전. 0, Kafka 0.10부터는 시각이 있는 1."),
    "crc": ("CRC-32 of everything from magic on; the offset is not covered.",
            "magic부터 끝까지의 CRC-32. 오프셋은 포함되지 않습니다."),
    "attributes": ("Bits: 0-2 compression (then it is a wrapper), 3 timestamp type.",
                   "비트: 0-2 압축(있으면 래퍼), 3 타임스탬프 종류."),
}  # fmt: skip
"""What is otherwise in messages of magic 0 and 1."""


def meaning(name: str, magic: int = 2) -> tuple[str, str]:
    """(English, Korean) of a field's name, in a batch or message of this magic."""
    if magic < 2 and name in OF_MESSAGES:
        return OF_MESSAGES[name]
    inner = _PREFIX.sub("", name)
    plain = _HEADER.sub("", inner)
    if inner != name and plain == "attributes":
        plain = "record attributes"
    return MEANINGS[plain]
