"""The report of a replay in two languages, and what its plots show of an answer that is larger than they are."""

from __future__ import annotations

import re
from base64 import b64decode
from html.parser import HTMLParser

import orjson
import pytest

from broker_core.kernel.problems import problem
from lab.analytics import charts, queries, recorded, replay, report, words
from lab.analytics.charts import MOST, natural, telling
from lab.analytics.errors import kept, read
from lab.analytics.report import ROWS, Answer
from tests.conftest import CHECKOUT

NAMES = {"ISR", "API", "acks", "all", "min", "insync", "replicas", "details", "orders", "broker", "run", "Fetch", "Produce", "G1a", "isr",
         "us", "ms", "x", "CRC", "log", "ID", "KIP", "KRaft", "Kafka", "ZooKeeper", "znode", "read", "committed"}
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
    answer("damages", *({**DAMAGE, "error": kept(error)} for error in (
        problem("index_missing"), problem("wrong_in", place=problem("at_batch", offset=3), what=problem("crc", given="0x00000001", found="0x00000002"))))),
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


def test_runs_of_an_answer_are_in_natural_order_and_lost_offsets_are_counted_together(spark):
    frame = spark.range(1000).selectExpr("concat('r-', id % 12) as run", "'p' as label", "cast(id as string) as number", "'t' as topic", "0 as partition",
                                         "if(id = 7, null, id div 12 + if(id >= 600, 5, 0)) as offset", "'cut' as test").orderBy("run", "offset")  # fmt: skip
    few = replay.collect("lost", frame.where("number < 30"))
    assert list(dict.fromkeys(one["run"] for one in few.rows)) == [f"r-{number}" for number in range(12)]
    many = replay.collect("lost", frame)
    assert (many.count, len(many.rows)) == (1000, ROWS) and list(dict.fromkeys(one["run"] for one in many.rows)) == ["r-0", "r-1"]
    assert [one["offset"] for one in many.rows[:50]] == list(range(50))
    ranges = replay._ranges(spark, frame)
    assert sum(one["records"] for one in ranges) == 1000
    assert [(one["first_offset"], one["last_offset"], one["records"]) for one in ranges if one["run"] == "r-7"] == [(1, 49, 49), (55, 87, 33), (None, None, 1)]


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


def test_what_is_wrong_is_kept_as_code_and_parameters_and_told_in_both_languages():
    wrong = problem("left_open", what=problem("machine_died"))
    assert read(kept(wrong)) == wrong and read("NONE") is None and read(None) is None
    assert words.ENGLISH.value("error", kept(wrong)) == "not carried out: Spark's Java virtual machine has died"
    assert words.KOREAN.value("error", kept(wrong)) == "실행하지 못했습니다. Spark의 Java 가상 머신이 죽었습니다"
    assert words.KOREAN.value("error", "NOT_LEADER_OR_FOLLOWER") == "NOT_LEADER_OR_FOLLOWER"


def test_runs_come_first_in_the_order_of_people_with_one_line_for_all(tmp_path):
    names = ["a-10", "a-9", "a-2", "b"]
    figures = {name: {"acked": 10, "lost": number, "seconds": float(number)} for number, name in enumerate(names)}
    report.write(tmp_path / "report.html", ANSWERS, sorted(names, key=natural), figures)
    text = (tmp_path / "report.html").read_text()
    glance = text[text.index('<section id="runs">'):text.index("<nav>")]
    assert re.findall(r"<tr[^>]*><td>([^<]+)</td>", glance) == ["Σ", "a-2", "a-9", "a-10", "b"]
    assert "records were lost in 3 of them" in glance and "<td class=\"n bad\">6</td>" in glance and "40" in glance
    assert text.index('<section id="runs">') < text.index('<section id="receipt">')


def test_offsets_that_were_lost_are_ranges_and_all_of_them_can_be_saved():
    ranges = [{"run": "x", "label": "p", "topic": "orders", "partition": 0, "first_offset": 10 * at, "last_offset": 10 * at + 4, "records": 5,
               "test": "cut"} for at in range(50)] + [{"run": "x", "label": "p", "topic": "orders", "partition": 0, "first_offset": None,
                                                       "last_offset": None, "records": 1, "test": "never-there"}]  # fmt: skip
    answer = Answer("lost", ["run"], [{"run": "x"}], 251, ranges=ranges)
    told = replay.plain(answer)
    assert told["ranges"] == ranges[: report.RANGES] and told["ranges_count"] == 51
    page = report.section(answer)
    assert page.count("<tr>") == report.RANGES + 1 and "190 – 194" in page and "200 – 204" not in page
    assert "251 records in 51 ranges of offsets; the longest 20 are shown" in page
    (content,) = re.findall(r'href="data:text/csv;base64,([^"]+)"', page)
    lines = b64decode(content).decode().splitlines()
    assert len(lines) == 52 and lines[50] == "x,p,orders,0,490,494,5,cut" and lines[51] == "x,p,orders,0,,,1,never-there"
    assert [report.span(*one) for one in ((7, 7), (7, 1200), (None, None))] == ["7", "7 – 1,200", "–"]


@pytest.mark.parametrize(("query", "english", "korean"), [
    ("receipt", "records", "레코드 수"), ("write_gaps", "s", "초"), ("latency", "ms", "ms"), ("elections", "elections", "선출 횟수"),
    ("leader_skew", "share of 1", "비율(전체 1)"), ("unavailability", "0.0 s", "0.0 s")])
def test_every_plot_has_an_axis_with_its_unit(query, english, korean):
    page = "<main>" + report.section(answer(query, row(query, from_us=0, to_us=5_000_000)))
    assert english in shown(page, "en").split("\n") and korean in shown(page, "ko").split("\n")


def test_elections_are_red_only_when_they_were_unclean():
    page = report.section(answer("elections", *(row("elections", reason=reason) for reason in ("new", "unclean", "broker gone"))))
    plot = page[:page.index("</svg>")]
    assert re.findall(r'<rect[^>]*fill="([^"]+)"', plot) == [charts.COLOURS[0], charts.RED, charts.COLOURS[0]]


def test_no_report_of_many_runs_is_a_mile_long(tmp_path):
    """What is long scrolls in a frame of its own, and what is empty takes a line with others."""
    rows = [row("receipt", run=f"r-{number}", producer="p", lost=number) for number in range(100)]
    report.write(tmp_path / "report.html", [answer("receipt", *rows), answer("stale"), answer("reordered")], [one["run"] for one in rows], {})
    text = (tmp_path / "report.html").read_text()
    assert text.count("<section") == 1 and "Nothing to tell about: Reads that went back or skipped, Reordered." in shown(text, "en")
    assert "<details>" in text and "max-height" in text


@pytest.mark.parametrize("causes", [("leader", "power", "acks=0"), ("리더", "정전", "acks=0")], ids=["en", "ko"])
def test_the_reading_of_what_was_lost_fits_each_way_to_lose_it(causes):
    said = [text for text in queries.QUERIES["lost"].reading if all(one in text for one in causes)]
    assert len(said) == 1


def test_what_was_not_recorded_is_not_said_to_have_been_nothing():
    gap = [{"run": "a", "what": "messages"}, {"run": "b", "what": "messages"}, {"run": "c", "what": "disks"}]
    assert [english for english, _ in recorded.told(gap)] == [
        "Not recorded of a, b: messages in the journal (the record level is transitions).", "Not recorded of c: the disks."]
    silent = report.section(report.Answer("latency", ["run"], [], 0, missing=gap))
    assert "Not recorded of a, b" in silent and "기록되지 않음" in silent and "Nothing." not in silent
    assert "Nothing." in report.section(report.Answer("latency", ["run"], [], 0))
