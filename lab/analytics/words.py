"""The words of a report: names of columns and values of answers, in English and Korean.

The screen has the same words in its catalogue (`spark.col.*`, `spark.value.*`); a test compares them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.problems import LANGUAGES
from broker_core.kernel.problems import told as sentence
from lab.analytics.errors import read
from lab.analytics.words_class import ASKED_BY, CLASS

Text = tuple[str, str]
"""English and Korean."""

COLUMNS: dict[str, Text] = {
    "acked": ("Acked", "확인 응답"),
    "acked_records": ("Records acked", "확인 응답한 레코드"),
    "anomaly": ("Anomaly", "이상"),
    "api": ("API", "API"),
    "appends": ("Appends", "추가"),
    "at_risk_records": ("Records at risk", "위험한 레코드"),
    "cycle": ("Cycle of", "순환의 첫 트랜잭션"),
    "transaction": ("Transaction", "트랜잭션"),
    "duplicated_records": ("Records duplicated", "중복된 레코드"),
    "removed_records": ("Records deleted unread", "안 읽고 삭제된 레코드"),
    "unread_records": ("Records unread", "안 읽은 레코드"),
    "assigning_ms": ("Assigning", "할당"),
    "at_risk": ("At risk", "위험"),
    "at_us": ("At", "시각"),
    "batches": ("Batches", "배치"),
    "behind": ("Behind record", "앞선 레코드"),
    "broker": ("Broker", "브로커"),
    "bytes": ("Bytes", "바이트"),
    "cause": ("Cause", "원인"),
    "compacted_bytes": ("Compacted away", "압축 정리한 바이트"),
    "complete": ("Journal complete", "저널이 온전함"),
    "controller": ("New controller", "새 컨트롤러"),
    "decided": ("Decided", "결정"),
    "deleted": ("Deleted segments", "지운 세그먼트"),
    "deleted_bytes": ("Deleted bytes", "지운 바이트"),
    "detected": ("Detected", "감지"),
    "duplicated": ("Duplicated", "중복"),
    "elections": ("Elections", "선출"),
    "error": ("What is wrong", "무엇이 잘못되었나"),
    "expanded": ("Expanded", "늘어남"),
    "expired": ("Expired", "만료"),
    "file": ("File", "파일"),
    "first_ack": ("First ack again", "다시 첫 확인 응답"),
    "follower": ("Follower", "팔로워"),
    "from_us": ("From", "시작"),
    "generations": ("Generations", "세대"),
    "group": ("Group", "그룹"),
    "how": ("How", "어떻게"),
    "converging_ms": ("Converging", "맞추기"),
    "joining_ms": ("Joining", "합류"),
    "kept": ("Segments kept", "남은 세그먼트"),
    "kept_bytes": ("Bytes kept", "남은 바이트"),
    "keys": ("Keys", "키"),
    "label": ("Producer", "프로듀서"),
    "last": ("Last offset", "마지막 오프셋"),
    "last_acked": ("Acked before", "앞서 확인 응답"),
    "last_read": ("Last read", "마지막으로 읽음"),
    "leader": ("Leader", "리더"),
    "local_p50": ("Local, median", "로컬 중앙값"),
    "local_p99": ("Local, 99th", "로컬 99"),
    "longest_ms": ("Longest", "최댓값"),
    "lost": ("Lost", "유실"),
    "lost_records": ("Records lost", "유실된 레코드"),
    "lost_topic": ("First lost: topic", "첫 유실: 토픽"),
    "lost_partition": ("First lost: partition", "첫 유실: 파티션"),
    "lost_offset": ("First lost: offset", "첫 유실: 오프셋"),
    "max_ms": ("Longest", "최댓값"),
    "never_took_over": ("Never took over", "이어받지 못함"),
    "next_leader": ("Next leader", "다음 리더"),
    "next_read": ("Next read", "다음에 읽음"),
    "number": ("Record", "레코드"),
    "offset": ("Offset", "오프셋"),
    "offsets": ("Offsets", "오프셋 범위"),
    "p50_ms": ("Median", "중앙값"),
    "p95_ms": ("95th percentile", "95 백분위수"),
    "p99_ms": ("99th percentile", "99 백분위수"),
    "partition": ("Partition", "파티션"),
    "partitions": ("Partitions", "파티션"),
    "position": ("Position", "위치"),
    "process": ("Consumer", "컨슈머"),
    "producer": ("Producer", "프로듀서"),
    "queue_p50": ("Queue, median", "큐 중앙값"),
    "queue_p99": ("Queue, 99th", "큐 99"),
    "read": ("Read", "읽음"),
    "reader": ("Read by", "읽은 컨슈머"),
    "reason": ("Reason", "이유"),
    "rebalances": ("Rebalances", "리밸런스"),
    "records": ("Records", "레코드"),
    "removed": ("Deleted unread", "안 읽고 삭제"),
    "remote": ("Remote", "원격"),
    "remote_p50": ("Remote, median", "원격 중앙값"),
    "remote_p99": ("Remote, 99th", "원격 99"),
    "reordered": ("Out of order", "순서 바뀜"),
    "requests": ("Requests", "요청"),
    "response_p50": ("Response, median", "응답 중앙값"),
    "response_p99": ("Response, 99th", "응답 99"),
    "run": ("Run", "실행"),
    "saved": ("Saved", "절약"),
    "seconds": ("How long", "길이"),
    "seconds_below_full": ("Below full size", "전체보다 작던 시간"),
    "seq": ("Event", "이벤트"),
    "share": ("Share", "비율"),
    "shrunk": ("Shrunk", "줄어듦"),
    "smallest": ("Smallest ISR", "가장 작은 ISR"),
    "step": ("Step", "단계"),
    "t_us": ("At", "시각"),
    "takeover_ms_max": ("Takeover, longest", "이어받기 최댓값"),
    "takeover_ms_p50": ("Takeover, median", "이어받기 중앙값"),
    "test": ("Test", "판정"),
    "to_us": ("To", "끝"),
    "took_over": ("Took over", "이어받음"),
    "top_key": ("Top key", "가장 잦은 키"),
    "top_key_share": ("Share of the top key", "가장 잦은 키의 비율"),
    "topic": ("Topic", "토픽"),
    "total_p50": ("Total, median", "전체 중앙값"),
    "total_p99": ("Total, 99th percentile", "전체 99 백분위수"),
    "transactions": ("Transactions", "트랜잭션"),
    "committed": ("Committed", "커밋"),
    "aborted": ("Aborted", "중단"),
    "unclean": ("Unclean", "언클린"),
    "unread": ("Unread", "안 읽음"),
    "scenario": ("Scenario", "시나리오"),
    "generation": ("Generation", "Kafka 세대"),
    "without_controller": ("Longest without a controller", "컨트롤러가 없던 가장 긴 시간"),
    "without_leader": ("Longest without a leader", "리더가 없던 가장 긴 시간"),
    "control_requests": ("Requests of the controller (ZooKeeper)", "컨트롤러의 요청(ZooKeeper)"),
    "tree_writes": ("Writes of znodes (ZooKeeper)", "znode 쓰기(ZooKeeper)"),
    "metadata_records": ("Metadata records (KRaft)", "메타데이터 레코드(KRaft)"),
    "votes": ("Votes (KRaft)", "투표(KRaft)"),
    "way_there_p50": ("Way there, median", "가는 길 중앙값"),
}  # fmt: skip
"""Column -> its heading."""
VALUES: dict[str, Text] = {
    "write_cycle": ("cycle of writes", "쓰기의 순환"),
    "read_cycle": ("cycle of reads", "읽기의 순환"),
    "precommitted_read": ("read before its commit", "커밋하기 전에 읽음"),
    "clients": ("from clients", "클라이언트에게서 끊김"),
    "clients, controller": ("from clients, controller", "클라이언트, 컨트롤러에게서 끊김"),
    "clients, controller, followers": (
        "from clients, controller, followers", "클라이언트, 컨트롤러, 팔로워에게서 끊김",
    ),
    "clients, followers": ("from clients, followers", "클라이언트, 팔로워에게서 끊김"),
    "controller, followers": ("from controller, followers", "컨트롤러, 팔로워에게서 끊김"),
    "crash": ("crash", "비정상 종료"),
    "cut": ("cut off", "잘려 나감"),
    "false": ("no", "아니요"),
    "followers": ("from followers", "팔로워에게서 끊김"),
    "halted": ("halted", "강제 중단"),
    "refused": ("refused", "거부됨"),
    "took_over": ("went on as a broker", "브로커로 이어짐"),
    "replaced": ("replaced", "교체됨"),
    "leader cut off": ("leader cut off", "리더가 끊김"),
    "int-nonmonotonic-poll": ("went back inside a poll", "한 폴 안에서 되돌아감"),
    "int-poll-skip": ("skipped inside a poll", "한 폴 안에서 건너뜀"),
    "missing": ("not in the log", "로그에 없음"),
    "never-there": ("never arrived", "도착하지 않음"),
    "no leader": ("no leader", "리더 없음"),
    "no replica of the ISR is alive": ("no replica of the ISR is alive", "ISR의 복제본이 하나도 살아 있지 않음"),
    "nonmonotonic-poll": ("went back", "되돌아감"),
    "passed": ("read over", "지나쳐 읽힘"),
    "paused": ("paused", "일시 정지"),
    "poll-skip": ("skipped", "건너뜀"),
    "power_loss": ("power loss", "정전"),
    "shutdown": ("shutdown", "정상 종료"),
    "stepped down": ("stepped down", "리더에서 물러남"),
    "too few in ISR": ("too few in ISR", "ISR 부족"),
    "true": ("yes", "예"),
    "unreadable": ("every copy is damaged", "모든 복제본이 손상됨"),
    "waits for ISR": ("waits for ISR", "ISR을 기다림"),
    "new": ("new", "새 파티션"),
    "broker gone": ("broker gone", "브로커가 사라짐"),
    "log directory offline": ("log directory offline", "로그 디렉터리 오프라인"),
    "preferred": ("preferred leader", "선호 리더"),
    "unclean": ("unclean", "언클린 선출"),
    "controlled shutdown": ("controlled shutdown", "정상 종료"),
    "reassignment": ("reassignment", "재할당"),
}  # fmt: skip
"""A value of `cause`, `how`, `test`, `reason` -> how it reads."""

SWEEP: dict[str, Text] = {
    "cell": ("Cell", "셀"),
    "runs": ("Runs", "실행"),
    "failed": ("Failed", "실패"),
    "acked": ("Acked", "확인 응답"),
    "read": ("Read", "읽음"),
    "lost": ("Lost", "유실"),
    "duplicated": ("Duplicated", "중복"),
    "reordered": ("Out of order", "순서 바뀜"),
    "runs_with_loss": ("Runs with a loss", "유실이 있던 실행"),
    "loss_low": ("Share with a loss, at least (95 %)", "유실이 있는 비율, 최소(95%)"),
    "loss_high": ("Share with a loss, at most (95 %)", "유실이 있는 비율, 최대(95%)"),
    "lost_q1": ("Lost, first quartile", "유실, 1사분위"),
    "lost_median": ("Lost, median", "유실, 중앙값"),
    "lost_q3": ("Lost, third quartile", "유실, 3사분위"),
    "median_gap_s": ("Longest gap, median (s)", "가장 긴 무응답, 중앙값(초)"),
    "mean_gap_s": ("Longest gap, mean (s)", "가장 긴 무응답, 평균(초)"),
    "max_gap_s": ("Longest gap (s)", "가장 긴 무응답(초)"),
    "worst_seed": ("Worst seed", "가장 나쁜 시드"),
    "open": ("Open", "열기"),
}
"""The same for the table of a sweep."""
PHRASES: dict[str, Text] = {
    "all seeds": ("all seeds", "모든 시드"),
    "all": ("all", "전체"),
    "no run": ("no run", "실행 없음"),
    "seed": ("seed", "시드"),
    "seeds": ("seeds", "시드"),
}
"""What stands on the axes and in the cells of a heat map."""
EXPLAINED = {
    "receipt": (
        "내구성 영수증입니다. 확인 응답, 읽음, 유실, 안 읽음, 위험, 중복, 순서 바뀜, 안 읽고 삭제를 실행과 프로듀서별로"
        " 셉니다."
        " 유실: 마지막 리더의 로그에 없음. 안 읽음: 로그에 있고 아무도 읽지 않음. 위험: 약속보다 적은 디스크에 있음."
        " 안 읽고 삭제: 아무도 읽기 전에 규칙에 따라 지워짐. 처음 유실된 자리도 보여 줍니다."
    ),
    "lost": (
        "확인 응답을 받았지만 마지막 리더의 로그에 없는 값과, 그것을 보여 주는 판정입니다."
        " 잘려 나감: 뒤에 온 리더에 없음. 로그에 없음: 로그를 끝까지 읽어도 없음. 도착하지 않음: acks=0이고"
        " 같은 프로듀서의 나중 값은 있음. 모든 복제본이 손상됨."
        " 지나쳐 읽힘: 저널이 없는 실행에서 그 자리를 지나쳐 읽음."
    ),
    "duplicated": "다른 오프셋에 이미 있는 값의 또 다른 오프셋입니다. 읽기와 확인 응답으로 압니다.",
    "reordered": "한 파티션에서 같은 프로듀서의 더 뒤 번호보다 나중에 읽힌 값입니다.",
    "stale": (
        "같은 컨슈머가 지난번에 읽은 곳에서 이어지지 않은 읽기입니다. 버전 순서의 인덱스로 잽니다."
        " 단계가 1보다 작으면 지나온 것을 다시 또는 더 오래된 것을 읽었고, 1보다 크면 값을 건너뛰었습니다."
        " 한 번의 폴 안에서 그랬는지도 판정에 나옵니다. 리밸런스를 사이에 둔 읽기는 보지 않습니다."
    ),
    "nonmonotonic_send": (
        "같은 프로듀서가 한 파티션에서 앞서 받은 확인 응답보다 오프셋이 낮은 확인 응답입니다."
    ),
    "aborted_read": (
        "쓰기가 실패했거나 중단됐는데도 읽힌 값입니다(G1a)."
        " 값이 있는 자리, 그 프로듀서, 트랜잭션, 읽은 컨슈머를 보여 줍니다."
    ),
    "transaction_cycles": (
        "자기 자신에게 되돌아오는 커밋된 트랜잭션과, 커밋하기 전에 읽은 자기 레코드입니다."
        " 쓰기의 순환(G0): 한 자리에서는 다음 트랜잭션의 앞에, 다른 자리에서는 뒤에 씀."
        " 읽기의 순환(G1c): 그 길에 다른 트랜잭션이 쓴 것을 읽은 트랜잭션이 있음."
        " 자리는 그 트랜잭션이 처음 쓴 곳입니다."
    ),
    "inconsistent": "한 오프셋에 값이 둘 이상 있던 것입니다. 읽은 값끼리 또는 확인 응답을 받은 값과 다릅니다.",
    "outside": (
        "실험실이 시작하지 않은 클라이언트를 브로커가 본 만큼 셉니다. 덧붙인 배치, 오류 없이 나간 응답, 유실입니다."
        " 확인 응답: 브로커의 응답이 오류 없이 나감. 유실: 확인 응답했지만 마지막 리더의 로그에 없음."
        " 안 읽음: 컨슈머에게 나간 응답에도 폴에도 없음. 위험: 약속보다 적은 디스크에 있음."
        " 중복: 같은 바이트를 다시 보냄."
        " 안 읽고 삭제: 아무도 읽기 전에 규칙에 따라 지워짐."
        " 저널이 온전하지 않으면 일부 메시지는 합쳐서 기록되었습니다."
    ),
    "outside_lost": "브로커가 확인 응답했지만 그 파티션의 마지막 리더의 로그에 없는 외부 클라이언트의 배치입니다.",
    "unavailability": (
        "파티션에 쓸 수 없던 구간과 그 원인입니다. 원인이 다른 구간은 겹칠 수 있습니다."
        " 리더 없음: 리더가 끝나거나 멈추거나 물러난 때부터 다음 리더가 올 때까지입니다. 아무것도 쓸 수 없었습니다."
        " ISR 부족: ISR이 min.insync.replicas보다 작습니다. acks=all 쓰기가 거부되었습니다."
        " ISR을 기다림: ISR의 멤버가 가져가지 않는데 아직 빠지지 않았습니다. acks=all 쓰기가 기다렸습니다."
        " 리더가 끊김: 리더에 닿는 프로듀서가 하나도 없거나(클라이언트), ISR의 다른 멤버가 하나도 없었습니다(팔로워)."
        " 뒤의 경우에는 acks=all 쓰기가 기다렸습니다. 실행이 끝날 때까지 이어졌으면 끝이 비어 있습니다."
    ),
    "write_gaps": (
        "부하가 있는 동안 파티션마다 확인 응답이 없던 가장 긴 시간입니다. 프로듀서가 겪은 것입니다."
        " 첫 전송부터 부하가 끝날 때까지 보며, 끝까지 답이 없으면 그 시간도 셉니다."
        " 부하가 끝난 때를 시나리오가 말하지 않으면 마지막 프로듀서가 끝난 때나 실행이 끝난 때까지 봅니다."
    ),
    "failovers": (
        "리더의 프로세스를 잃을 때마다 그 뒤의 단계를 초로 잰 것입니다. 감지: 노드의 세션이 만료됨."
        " 새 컨트롤러: 잃은 노드가 컨트롤러였으면 다음 컨트롤러가 뽑힘."
        " 결정: 컨트롤러가 리더를 고름(그대로 두면 비어 있음)."
        " 이어받음: 그 브로커가 이끔. 다시 첫 확인 응답: 프로듀서가 다시 응답을 받음."
    ),
    "elections": "리더 결정을 이유별로 세고, 뽑힌 브로커가 이어받는 데 걸린 시간을 잽니다.",
    "isr_churn": (
        "파티션마다 리더가 ISR을 바꾼 횟수와, ISR이 가장 작았을 때의 크기, 가장 컸을 때보다 작았던 시간입니다."
        " 선출도 ISR을 줄입니다. 죽은 브로커는 빠지기 때문입니다."
    ),
    "replication_lag": (
        "리더가 덧붙인 뒤 같은 마지막 오프셋이 팔로워마다 놓이기까지의 밀리초입니다. 저널에 기록된 것만 봅니다."
        " 저널이 초당 한도를 넘으면 하나하나 기록하지 않습니다."
    ),
    "latency": (
        "API별로 요청의 시간이 쓰인 곳이며, 중앙값과 99 백분위수(밀리초)입니다. 가는 길: 클라이언트에서 브로커까지."
        " 큐, 로컬, 원격(퍼거토리), 응답: 파이프라인의 단계이며 기록 수준 details부터 있습니다."
        " 전체: 브로커가 응답을 보낼 때까지."
    ),
    "rebalance_cost": (
        "그룹의 리밸런스 비용입니다. 몇 번이었는지, 안정이 아닌 상태마다 얼마나 있었는지를 셉니다."
        " 합류, 할당: 예전 프로토콜이며 아무도 읽지 않습니다."
        " 맞추기: KIP-848 프로토콜이며 옮겨 가는 파티션만 멈춥니다."
    ),
    "stable_gap": (
        "파티션의 마지막 안정 오프셋이 하이 워터마크보다 뒤에 있던 시간, 곧 열린 트랜잭션이 있던 시간입니다."
        " 트랜잭션의 첫 레코드부터 마커까지 재고, 겹친 것은 한 번만 셉니다. 끝나지 않은 것은 실행이 끝날 때까지 셉니다."
        " 마커가 복제될 때까지는 몇 밀리초가 더 걸립니다."
    ),
    "aborted_share": "트랜잭션 ID마다 코디네이터가 정한 결말과, 그 가운데 중단된 비율입니다.",
    "leader_skew": "브로커마다 리더로서 한 일입니다. 덧붙인 바이트의 비율과, 한 번이라도 이끈 파티션 수입니다.",
    "key_skew": (
        "레코드가 파티션과 키에 퍼진 정도입니다. 파티션의 비율과, 그 안에서 가장 잦은 키의 비율입니다."
        " 복제본을 두 번 세지 않도록 가장 많이 가진 복제본에서 셉니다. 마커는 세지 않습니다."
    ),
    "retention": (
        "보존 정책과 압축 정리가 아낀 공간입니다. 지운 바이트와 아직 있는 바이트를 브로커와 토픽별로 셉니다."
        " 저널이 없으면 지운 것은 비어 있습니다."
    ),
    "zookeeper_and_kraft": (
        "실행을 Kafka 세대별로 봅니다. 컨트롤러 선출 횟수와 컨트롤러가 없던 가장 긴 시간,"
        " 파티션에 리더가 없던 가장 긴 시간, 그리고 그 일에 든 것입니다."
        " 컨트롤러의 요청: 컨트롤러가 브로커에 보낸 요청."
        " znode 쓰기: 만들거나 바꾸거나 지운 znode. 메타데이터 레코드: 쿼럼의 리더가 쓴 레코드."
        " 투표: 쿼럼에서 던진 표."
    ),
    "damages": "세그먼트 파일, 저널, 기록에서 읽을 수 없던 곳입니다.",
}
"""Query -> what it computes, in Korean; in English its docstring says it."""
_SAID = frozenset(("anomaly", "cause", "how", "test", "reason", "error", "kind"))
"""Columns whose values are words, not names or numbers of a run."""


_SECONDS = frozenset((
    "seconds", "detected", "controller", "decided", "took_over", "first_ack", "seconds_below_full",
    "without_controller", "without_leader", "fastest_s", "median_s", "slowest_s",
))  # fmt: skip
_MILLIS = re.compile(r".*_ms(_.*)?|(queue|local|remote|response|total|way_there)_p\d+")


def unit(name: str) -> str:
    """` (ms)` behind a heading, or nothing."""
    if name.endswith("_us"):
        return " (µs)"
    return " (s)" if name in _SECONDS else " (ms)" if _MILLIS.fullmatch(name) else ""


_SHARES = frozenset(("share", "top_key_share", "saved"))
_UNITS: dict[str, Text] = {
    "elections": ("elections", "선출 횟수"), "share": ("share of 1", "비율(전체 1)"),
    "records": ("records", "레코드 수"), "wrong": ("wrong answers", "틀린 답"), "s": ("s", "초"), "ms": ("ms", "ms"),
}  # fmt: skip
"""What the axis of a plot counts."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language: 0 English, 1 Korean."""

    language: int

    def phrase(self, text: str) -> str:
        """A phrase, or a text that is none."""
        return PHRASES[text][self.language] if text in PHRASES else text

    def column(self, name: str) -> str:
        """A heading."""
        text = COLUMNS.get(name) or SWEEP.get(name) or CLASS.get(name)
        return text[self.language] if text else name

    def heading(self, name: str) -> str:
        """A heading with the unit of its values."""
        return self.column(name) + unit(name)

    def axis(self, name: str) -> str:
        """The unit of a column, for the axis of its plot: records, where nothing else is said."""
        kind = "share" if name in _SHARES else unit(name).strip(" ()") or name
        return _UNITS.get(kind, _UNITS["records"])[self.language]

    def value(self, column: str, value: Any) -> Any:
        """A value of a column; names and numbers stay as they are."""
        if isinstance(value, bool):
            return VALUES[str(value).lower()][self.language]
        if column not in _SAID or not isinstance(value, str):
            return value
        if column == "kind" and value in ASKED_BY:
            return ASKED_BY[value][self.language]
        if value in VALUES:
            return VALUES[value][self.language]
        what = read(value) if column == "error" else None
        return value if what is None else sentence(what, LANGUAGES[self.language])


ENGLISH, KOREAN = Words(0), Words(1)


def told(column: str, value: str) -> Text:
    """A word of an answer in both languages."""
    return ENGLISH.value(column, value), KOREAN.value(column, value)
