"""The questions by their names: what `replay --query NAME` prints and a report shows.

Each has a function whose docstring says what it computes, a title and a sentence of reading in both
languages, and the columns that a chart of it draws.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.kernel.names import CHECKER
from broker_core.kernel.problems import problem
from lab.analytics import answers, generations, transacted
from lab.analytics.errors import AnalyticsError
from lab.analytics.history import COUNTS, History
from lab.analytics.standing import ENDLESS
from lab.analytics.tables import Tables
from lab.analytics.words import EXPLAINED, Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Query:
    """A named question. `chart`: (kind, columns of the label, columns of values)."""

    name: str
    title: Text
    reading: Text
    function: Callable[[Tables, History], DataFrame]
    chart: tuple[str, tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def doc(self) -> str:
        """What it computes."""
        return inspect.getdoc(self.function) or ""

    @property
    def explained(self) -> Text:
        """The same in both languages."""
        return self.doc, EXPLAINED[self.name]


def receipt(tables: Tables, history: History) -> DataFrame:
    """The durability receipt: acked, read, lost, unread, at risk, duplicated, reordered, removed, by run and producer.

    lost: gone from the last leader's log · unread: there, nobody read it · at risk: on fewer disks than promised ·
    removed: deleted by a rule before anybody read it. Behind it the first place where something was lost.
    """
    first = history.lost.selectExpr(
        "run", "if(label = '', 'operator', substring_index(label, '~', 1)) as producer",
        f"struct(topic, partition, coalesce(offset, {ENDLESS}) as offset) as place").groupBy(
        "run", "producer").agg({"place": "min"})
    return history.counts.join(first, ["run", "producer"], "left").selectExpr(
        "run", "producer", *COUNTS, "`min(place)`.topic as lost_topic", "`min(place)`.partition as lost_partition",
        f"nullif(`min(place)`.offset, {ENDLESS}) as lost_offset").orderBy("run", "producer")


def lost(tables: Tables, history: History) -> DataFrame:
    """Values that were acked and are gone from the log that counts, that of the last leader; and what shows it.

    cut: a later leader does not have it · missing: the log was read to its end without it · never-there: with acks=0,
    a later one of its producer is there · unreadable: every copy is damaged · passed: read over, in a run without
    journal.
    """
    return history.lost.orderBy("run", "topic", "partition", "offset")


def duplicated(tables: Tables, history: History) -> DataFrame:
    """Further offsets of a value that stands at another one already, by reads and acknowledgements."""
    return history.duplicated.orderBy("run", "topic", "partition", "offset")


def reordered(tables: Tables, history: History) -> DataFrame:
    """Values read in a partition behind a later number of the same producer."""
    return history.reordered.orderBy("run", "topic", "partition", "offset")


def stale(tables: Tables, history: History) -> DataFrame:
    """Reads that did not go on where the same consumer's last one ended, by index in version order.

    step < 1: it read again, or older, what it had passed · step > 1: it passed over values · int-: inside one
    poll. Not over a rebalance.
    """
    return history.stale.selectExpr(
        "run", "process", "topic", "partition", "t_us", "before as last_read", "offset as next_read", "step", "test",
        ).orderBy("run", "process", "t_us", "last_read", "next_read")


def inconsistent(tables: Tables, history: History) -> DataFrame:
    """Values beyond the first at one offset: of two reads, or acked there and another one read or acked."""
    return history.inconsistent.orderBy("run", "topic", "partition", "offset")


def aborted_read(tables: Tables, history: History) -> DataFrame:
    """Reads of values whose write failed or was aborted (G1a): where the value stands, whose it is, of which
    transaction, who read it."""
    columns = ("run", "topic", "partition", "offset", "label", "number", "reader", "transaction")
    readers = tables.polls.where(f"process <> '{CHECKER}'").selectExpr(*columns[:6], "process as reader").distinct()
    aborted = history.aborted_reads.join(readers, list(columns[:6])).select(*columns)
    return history.failed_reads.select(*columns).unionByName(aborted).orderBy(*columns[:4], "reader")


def transaction_cycles(tables: Tables, history: History) -> DataFrame:
    """Committed transactions that lead back to themselves, and what one has read of its own before its commit.

    write_cycle (G0): at one place in front of the next one, at another behind it · read_cycle (G1c): the same, and
    on the way one has read what another wrote · precommitted_read: it wrote what it read. `cycle`: the first of its
    members by name; the place: the first that the transaction wrote.
    """
    return history.owed.orderBy("run", "anomaly", "topic", "partition", "offset", "transaction")


def nonmonotonic_send(tables: Tables, history: History) -> DataFrame:
    """Acknowledgements whose offset lies below one that the same producer was told before, in a partition."""
    return history.falls.selectExpr(
        "run", "process as producer", "topic", "partition", "t_us", "before as last_acked", "offset").orderBy(
        "run", "producer", "t_us", "topic", "partition")


def outside(tables: Tables, history: History) -> DataFrame:
    """Clients that the lab did not start, as far as the brokers see: batches that they appended, good answers, losses.

    Acked: the broker's answer left without an error. Lost: acked, and not in the log of the last leader. Unread: in no
    answer that left for a consumer, in no poll. At risk: on fewer disks than promised. Duplicated: the same bytes, sent
    again. Removed: deleted by a rule before anybody had read it. Where the journal is not complete, some messages were
    summed up.
    """
    return history.outside.figures.orderBy("run")


def outside_lost(tables: Tables, history: History) -> DataFrame:
    """Acked batches of outside clients that the log of their partition's last leader does not hold."""
    return history.outside.lost.select("run", "topic", "partition", "offset", "last").orderBy(
        "run", "topic", "partition", "offset")


_COUNTS = ("lost", "unread", "at_risk", "duplicated", "reordered")
QUERIES = {query.name: query for query in (
    Query("receipt", ("What became of what was acknowledged", "확인 응답을 받은 레코드는 어떻게 되었나"),
          (("Lost is a promise that was broken; unread is there and waits; at risk is on fewer disks than promised."),
           ("유실은 지켜지지 않은 약속입니다. 안 읽음은 로그에 있고 아직 아무도 읽지 않은 것이고, "
            "위험은 약속보다 적은 디스크에 있는 것입니다.")), receipt,
          ("bars", ("run", "producer"), _COUNTS)),
    Query("lost", ("Lost", "유실"),
          (("Neighbouring offsets mostly have one cause: the next leader did not have them, the power failed before "
            "they were flushed, or with acks=0 they never arrived."),
           ("이웃한 오프셋은 대개 한 가지 까닭으로 사라집니다. 새 리더에 없었거나, 플러시 전에 정전이 되었거나, "
            "acks=0이라 도착하지 못한 것입니다.")), lost),
    Query("duplicated", ("Duplicated", "중복"),
          ("A value at two offsets was sent twice: the first answer did not arrive.",
           "한 값이 두 오프셋에 있으면 두 번 보낸 것입니다. 첫 응답이 도착하지 않았습니다."), duplicated),
    Query("reordered", ("Reordered", "순서 뒤바뀜"),
          ("A retry was overtaken by what was sent after it.", "재시도한 레코드를 나중에 보낸 레코드가 앞질렀습니다."),
          reordered),
    Query("stale", ("Reads that went back or skipped", "되돌아가거나 건너뛴 읽기"),
          ("A step below 1 went back, above 1 skipped.",
           "1보다 작으면 되돌아간 것이고, 1보다 크면 건너뛴 것입니다."), stale),
    Query("nonmonotonic_send", ("Acknowledged offsets that went down", "되돌아간 확인 응답 오프셋"),
          ("The new leader continued below what the old one had acknowledged: the difference is gone.",
           "새 리더가 이전 리더의 확인 응답보다 아래에서 이어 썼습니다. 그 차이만큼 사라졌습니다."), nonmonotonic_send),
    Query("aborted_read", ("Failed and aborted writes that were read", "실패하거나 중단됐지만 읽힌 쓰기"),
          ("The write failed, or its transaction was aborted; somebody read it all the same.",
           "쓰기가 실패했거나 그 트랜잭션이 중단됐는데도 누군가 그 값을 읽었습니다."), aborted_read),
    Query("transaction_cycles", ("Transactions that depend on themselves", "자기 자신에게 되돌아오는 트랜잭션"),
          (("Kafka gives no order to transactions that write at the same time: cycles of writes are no fault. That one "
            "reads what it wrote before its commit would be."),
           ("Kafka는 동시에 쓰는 트랜잭션의 순서를 정하지 않으므로 쓰기의 순환은 잘못이 아닙니다. "
            "커밋하기 전에 자기가 쓴 것을 읽는다면 잘못입니다.")), transaction_cycles),
    Query("inconsistent", ("Two values at one offset", "한 오프셋에 두 값"),
          ("The log was rewritten: what stood there was acknowledged before.",
           "로그가 다시 쓰였습니다. 그 자리에 있던 것은 이미 확인 응답을 받았습니다."), inconsistent),
    Query("outside", ("Outside clients, as the brokers see them", "브로커가 본 외부 클라이언트"),
          ("What an outside client was told, only it knows; what the brokers answered stands here.",
           "외부 클라이언트가 들은 것은 그 클라이언트만 압니다. 여기에는 브로커가 응답한 것이 나옵니다."), outside,
          ("bars", ("run",), ("acked_records", "lost_records"))),
    Query("outside_lost", ("Lost batches of outside clients", "외부 클라이언트의 유실된 배치"),
          ("The broker had answered that they were written.",
           "브로커가 기록되었다고 응답했던 배치입니다."), outside_lost),
    Query("unavailability", ("Windows without writes, and why", "쓸 수 없던 구간과 그 원인"),
          ("Without a leader that clients reach nothing can be written; other causes stop only writes with acks=all.",
           "리더가 없거나 클라이언트가 닿지 못하면 아무것도 쓸 수 없습니다. 다른 원인은 acks=all 쓰기만 막습니다."),
          answers.unavailability,
          ("spans", ("run", "topic", "partition"), ("from_us", "to_us"))),
    Query("write_gaps", ("Longest time without an acknowledgement", "확인 응답이 없던 가장 긴 시간"),
          ("What the producers noticed, from the first send to the end of the load.",
           "프로듀서가 겪은 시간입니다. 첫 전송부터 부하가 끝날 때까지 봅니다."), answers.write_gaps,
          ("bars", ("run", "topic", "partition"), ("seconds",))),
    Query("failovers", ("Failover, step by step", "장애 조치의 단계"),
          ("`detected` is the end of the session; what follows is the work of controller, new leader and client.",
           "감지는 세션이 끝난 때이고, 그 뒤는 컨트롤러와 새 리더와 클라이언트의 일입니다."), answers.failovers,
          ("bars", ("run", "topic", "partition"), ("detected", "decided", "took_over", "first_ack"))),
    Query("elections", ("Elections by reason", "이유별 리더 선출"),
          (("An unclean election takes a leader that was not in sync. Records can be lost without one, too: with "
            "acks=1 or 0 the next leader in sync may lack what was acknowledged, and a power loss takes what was not "
            "flushed."),
           ("언클린 선출은 동기화되지 않은 복제본을 리더로 뽑습니다. 언클린 선출이 없어도 레코드를 잃을 수 있습니다. "
            "acks=1이나 0이면 동기화된 새 리더에도 확인 응답한 레코드가 없을 수 있고, "
            "정전은 플러시하지 않은 것을 없앱니다.")),
          answers.elections,
          ("bars", ("run", "reason"), ("elections",))),
    Query("isr_churn", ("Changes of the ISR", "ISR 변화"),
          ("While the ISR is small, acks=all promises less.", "ISR이 작은 동안에는 acks=all의 약속도 작아집니다."),
          answers.isr_churn, ("bars", ("run", "topic", "partition"), ("seconds_below_full",))),
    Query("replication_lag", ("Replication lag of followers", "팔로워의 복제 지연"),
          ("What the 99th percentile shows is what acks=all waits for.",
           "99 백분위수가 acks=all이 기다리는 시간입니다."),
          answers.replication_lag, ("bars", ("run", "topic", "partition", "follower"), ("p50_ms", "p99_ms"))),
    Query("latency", ("Where the time of a request goes", "요청의 시간은 어디에 쓰이나"),
          ("`remote` is purgatory: waiting for followers (Produce) or for records (Fetch).",
           "원격은 퍼거토리에 있는 시간입니다. Produce는 팔로워를, Fetch는 레코드를 기다립니다."), answers.latency,
          ("bars", ("run", "api"), ("total_p50", "total_p99"))),
    Query("rebalance_cost", ("What rebalances cost", "리밸런스 비용"),
          ("While a group joins and assigns, nobody reads; while one of KIP-848 converges, all but what moves is read.",
           ("그룹이 합류하고 할당하는 동안에는 아무도 읽지 않습니다. "
            "KIP-848 그룹이 맞추어 가는 동안에는 옮겨 가는 파티션 말고는 모두 읽습니다.")),
          answers.rebalance_cost, ("bars", ("run", "group"), ("joining_ms", "assigning_ms", "converging_ms"))),
    Query("stable_gap", ("Waiting at the last stable offset", "마지막 안정 오프셋에서 기다린 시간"),
          ("While a transaction is open, readers with read_committed get nothing behind its first record.",
           "트랜잭션이 열려 있는 동안 read_committed로 읽는 쪽은 그 첫 레코드 뒤를 받지 못합니다."),
          transacted.stable_gap, ("bars", ("run", "topic", "partition"), ("seconds",))),
    Query("aborted_share", ("Transactions that were aborted", "중단된 트랜잭션"),
          ("What was aborted was written and sent for nothing; what expired kept readers waiting.",
           "중단된 것은 헛되이 쓰고 보낸 것이고, 시간이 다 된 것은 읽는 쪽을 기다리게 한 것입니다."),
          transacted.aborted_share, ("bars", ("run", "producer"), ("share",))),
    Query("leader_skew", ("Work of leaders", "리더의 일"),
          ("Even bars: leaders are spread evenly.",
           "막대가 고르면 리더가 고르게 퍼져 있는 것입니다."), answers.leader_skew,
          ("bars", ("run", "broker"), ("share",))),
    Query("key_skew", ("Spread over partitions and keys", "파티션과 키의 분포"),
          ("One tall bar is a hot partition; its top key says why.",
           "높은 막대 하나는 핫 파티션입니다. 가장 잦은 키가 이유를 말해 줍니다."), answers.key_skew,
          ("bars", ("run", "topic", "partition"), ("share", "top_key_share"))),
    Query("retention", ("What retention and compaction have saved", "보존 정책과 압축 정리가 아낀 공간"),
          ("Deleted bytes beside those that are still there.", "지워진 바이트와 아직 남아 있는 바이트입니다."),
          answers.retention, ("bars", ("run", "broker", "topic"), ("saved",))),
    Query("zookeeper_and_kraft", ("ZooKeeper against KRaft", "ZooKeeper와 KRaft 비교"),
          (("Runs of one scenario stand together, one line for each. With ZooKeeper the controller tells each broker "
            "what it has decided; with KRaft every process reads the log."),
           ("같은 시나리오의 실행이 나란히 나옵니다. ZooKeeper에서는 컨트롤러가 결정을 브로커마다 알리고, "
            "KRaft에서는 모든 프로세스가 로그를 읽습니다.")), generations.zookeeper_and_kraft,
          ("bars", ("run", "generation"), ("without_controller", "without_leader"))),
    Query("damages", ("Places that could not be read", "읽을 수 없던 곳"),
          ("Each row is a file and the place from which it could not be read.",
           "한 줄은 파일과, 그 파일을 읽을 수 없게 된 위치입니다."), answers.damages),
)}  # fmt: skip


def find(name: str) -> Query:
    """A query by its name; raises AnalyticsError."""
    if name not in QUERIES:
        raise AnalyticsError(problem("no_query", name=name, known=list(QUERIES)))
    return QUERIES[name]
