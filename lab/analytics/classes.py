"""What a class has made of its exercises and lessons, asked with Spark: exports, answers, a report.

An export is the file of `GET /api/classes/CODE/export`; several of them, classes of several years, are one question.
Spark reads the files itself, by the schema below, so they may lie wherever Spark reads from.

    class_tries          one row for each hand-in and seed: what its receipt says
    class_levers         one row for each hand-in and lever that it has moved
    class_predictions    one row for each student and lesson or question: the first answer that he gave
    class_progress       one row for each student and exercise

    OUT/TABLE/*.parquet · OUT/answers.json · OUT/class.html

Nobody's name is read: the answers are about exercises, settings and questions, not about students.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from broker_core.kernel.problems import problem
from lab.analytics import report
from lab.analytics.errors import AnalyticsError
from lab.analytics.report import ROWS, Answer
from lab.analytics.words import Text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPORT = "class.html"
CLASSES = "class_exports"
SCHEMA = """
class string, title string,
students array<struct<number int, lessons map<string, string>, first_lessons map<string, string>,
 questions map<string, struct<first string>>, cells map<string, struct<state string, took_s bigint, hints int>>>>,
hand_ins array<struct<student int, exercise string, number int, state string,
 attempt struct<set map<string, string>, steps array<map<string, string>>>,
 grade struct<seeds array<struct<seed bigint, passed boolean, receipt struct<acked bigint, lost bigint, unread bigint,
  duplicated bigint, reordered bigint>>>>>>,
polls array<struct<question string, answers array<struct<student int, grade string>>>>,
exercises map<string, struct<title map<string, string>>>"""
"""Of what stands in an export, what is asked about."""

VIEWS = {
    "class_tries": f"""
        select class, one.student, one.exercise, one.number as try, one.state, seed.seed, seed.passed,
               seed.receipt.acked, seed.receipt.lost, seed.receipt.unread, seed.receipt.duplicated,
               seed.receipt.reordered
        from (select class, explode(hand_ins) as one from {CLASSES})
             lateral view explode(one.grade.seeds) as seed""",
    "class_levers": f"""
        select class, one.student, one.exercise, one.number as try, lever, value
        from (select class, explode(hand_ins) as one from {CLASSES})
             lateral view explode(one.attempt.set) as lever, value""",
    "class_predictions": f"""
        select class, student.number as student, 'lesson' as kind, asked,
               coalesce(student.first_lessons[asked], grade) as grade
        from (select class, explode(students) as student from {CLASSES})
             lateral view explode(student.lessons) as asked, grade
        union all
        select class, student.number, 'quiz', asked, answer.first
        from (select class, explode(students) as student from {CLASSES})
             lateral view explode(student.questions) as asked, answer
        union all
        select class, vote.student, 'poll', poll.question, vote.grade
        from (select class, explode(polls) as poll from {CLASSES}) lateral view explode(poll.answers) as vote""",
    "class_progress": f"""
        select class, student.number as student, exercise, cell.state, cell.took_s, cell.hints
        from (select class, explode(students) as student from {CLASSES})
             lateral view explode(student.cells) as exercise, cell""",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question about classes; as `queries.Query` for a report."""

    sql: str
    title: Text
    reading: Text
    explained: Text
    chart: tuple[str, tuple[str, ...], tuple[str, ...]] | None = None


QUESTIONS = {
    "class_losses": Question(
        """
        select exercise, count(distinct class, student, try) as tries,
               count(distinct case when lost > 0 then struct(class, student, try) end) as losing_tries,
               count(distinct case when lost > 0 then struct(class, student) end) as losing_students,
               sum(acked) as acked, sum(lost) as lost, sum(unread) as unread, sum(duplicated) as duplicated,
               max(lost) as most_lost, max_by(seed, lost) filter (where lost > 0) as worst_seed
        from class_tries group by exercise order by lost desc, exercise""",
        ("Where records were lost", "어디에서 레코드가 유실되었나"),
        ("The exercise at the top cost the class most records that had been acked.",
         "맨 위의 연습 문제에서 확인 응답을 받은 레코드가 가장 많이 유실되었습니다."),
        ("Hand-ins that were judged, by exercise: those that lost records, how many, the seed that lost most.",
         "채점한 제출을 연습 문제별로 봅니다. 유실이 있던 제출, 유실된 레코드, 가장 많이 유실된 시드를 셉니다."),
        ("bars", ("exercise",), ("lost",)),
    ),
    "class_settings": Question(
        """
        select exercise, lever, value, count(*) as tries, count_if(lost > 0) as losing_tries, sum(lost) as lost
        from class_levers join (
            select class, student, exercise, try, sum(lost) as lost from class_tries group by all
        ) using (class, student, exercise, try)
        group by exercise, lever, value order by lost desc, exercise, lever, value""",
        ("With which settings they were lost", "어떤 설정에서 유실되었나"),
        ("A value whose tries mostly lost something is what to talk about.",
         "시도의 대부분에서 유실이 있던 값이 함께 이야기할 거리입니다."),
        ("What hand-ins have moved, by exercise, lever and value: tries, those that lost records, how many.",
         "제출에서 바꾼 것을 연습 문제, 레버, 값별로 봅니다. 시도, 유실이 있던 시도, 유실된 레코드를 셉니다."),
    ),
    "class_predictions": Question(
        """
        select kind, asked, count(*) as answered, count_if(grade = 'right') as right, count_if(grade = 'near') as near,
               count_if(grade = 'wrong') as wrong, count_if(grade = 'wrong') / count(*) as wrong_share
        from class_predictions where grade in ('right', 'near', 'wrong')
        group by kind, asked order by wrong desc, wrong_share desc, kind, asked""",
        ("Which prediction was wrong most often", "어떤 예측이 가장 자주 틀렸나"),
        ("The prediction at the top surprised most students.", "맨 위의 예측이 학생을 가장 많이 놀라게 했습니다."),
        ("The first answer of each student: to the question before a lesson, to a question of a quiz, to a poll.",
         "학생마다 처음 한 답입니다. 수업 앞의 예측, 퀴즈의 질문, 모두에게 물은 질문을 함께 봅니다."),
        ("bars", ("kind", "asked"), ("wrong",)),
    ),
    "class_first_success": Question(
        """
        select exercise, count_if(state <> 'none') as began, count_if(state = 'passed') as reached,
               min(took_s) as fastest_s, percentile(took_s, 0.5) as median_s, max(took_s) as slowest_s,
               percentile(first_try, 0.5) as tries_p50, max(first_try) as most_tries
        from class_progress left join (
            select class, student, exercise, min(try) as first_try from (
                select class, student, exercise, try from class_tries where state = 'passed')
            group by all
        ) using (class, student, exercise)
        group by exercise order by median_s desc nulls first, exercise""",
        ("How long to the first success", "처음 성공하기까지 얼마나 걸렸나"),
        ("From opening an exercise to the first try that reached its goals, and which try that was.",
         "연습 문제를 연 때부터 목표를 이룬 첫 시도까지의 시간과, 그것이 몇 번째 시도였는지입니다."),
        ("Students who have opened the exercise, those who have reached its goals, seconds and tries until then.",
         "연습 문제를 연 학생, 목표를 이룬 학생, 그때까지의 시간(초)과 시도 횟수입니다."),
        ("bars", ("exercise",), ("median_s",)),
    ),
}


def replay(
    spark: SparkSession, paths: Sequence[str | Path], out: Path | None = None
) -> Iterator[Answer]:  # fmt: skip
    """Each answer as it is found; with `out`, tables and the report behind the last one. Raises AnalyticsError for a
    file that is no export."""
    titles = _titles(paths)
    frame = spark.read.schema(SCHEMA).option("multiLine", True).json([str(path) for path in paths]).cache()
    frame.createOrReplaceTempView(CLASSES)
    for name, sql in VIEWS.items():
        spark.sql(sql).createOrReplaceTempView(name)
    found = []
    for name, question in QUESTIONS.items():
        asked = spark.sql(question.sql)
        rows = [row.asDict() for row in asked.collect()]
        found.append(Answer(name, list(asked.columns), rows[:ROWS], len(rows)))
        yield found[-1]
    if out is not None:
        _write(spark, out, found, titles)
    frame.unpersist()


def _titles(paths: Sequence[str | Path]) -> list[str]:
    """Of the classes. Raises AnalyticsError."""
    titles = []
    for path in map(Path, paths):
        try:
            content = orjson.loads(path.read_bytes())
        except (OSError, ValueError):
            content = None
        if not isinstance(content, dict) or not {"class", "students", "hand_ins"} <= set(content):
            raise AnalyticsError(problem("no_class_export", path=str(path)))
        titles.append(str(content.get("title", content["class"])))
    return titles


def _write(spark: SparkSession, out: Path, found: Sequence[Answer], titles: Sequence[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in VIEWS:
        spark.table(name).coalesce(1).write.mode("overwrite").parquet(str(out / name))
    (out / "answers.json").write_bytes(orjson.dumps([plain(one) for one in found], option=orjson.OPT_INDENT_2))
    named = ", ".join(titles)
    sections = [report.section(one, QUESTIONS[one.name]) for one in found]
    (out / REPORT).write_text(report.page((f"Class: {named}", f"반: {named}"), sections), encoding="utf-8")


def plain(answer: Answer) -> dict[str, Any]:
    """An answer as data, with its words and its plot."""
    question = QUESTIONS[answer.name]
    chart = question.chart
    return {
        "query": answer.name, "columns": answer.columns, "count": answer.count, "rows": answer.rows,
        "title": _both(question.title), "reading": _both(question.reading), "doc": _both(question.explained),
        "chart": chart and {"kind": chart[0], "labels": chart[1], "values": chart[2]},
    }  # fmt: skip


def _both(text: Text) -> dict[str, str]:
    return dict(zip(("en", "ko"), text))
