"""What questions look like over REST, and an answer to one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from web.api.answers_bytes import Closed
from web.api.answers_exercises import Titles

Way = Literal["choices", "number", "broker", "order", "setting"]
QuestionName = Annotated[str, Field(max_length=100)]
Given = (
    Annotated[int, Field(strict=True)]
    | Annotated[str, Field(max_length=200)]
    | Annotated[list[int], Field(max_length=20)]
)


class QuestionView(Closed):
    """A question without its answer. `texts`: choices, or what is to be put in order; `brokers`: which there are."""

    name: str
    lesson: str
    course: str | None
    ask: Titles
    way: Way
    texts: list[Titles]
    brokers: list[int]
    prediction: bool


class QuizView(Closed):
    """Questions that are asked together: of a lesson, or of a heading (a track of lessons, a part of the
    glossary, a text for beginners)."""

    name: str
    title: Titles
    heading: bool
    questions: list[QuestionView]


class QuizRow(Closed):
    """A quiz in short."""

    name: str
    title: Titles
    heading: bool
    questions: int


class Quizzes(Closed):
    """All of them: headings first, then lessons in the order of the way."""

    items: list[QuizRow]
    total: int


class AnswerGiven(BaseModel):
    """An answer: index of a choice, a number, id of a broker (-1: nobody), indexes in order, code of a setting."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"question": "setting-against-a-loss", "answer": "acks=all"}]}
    )
    question: QuestionName
    answer: Given


class Proof(Closed):
    """Where the run of a lesson shows the answer: virtual time, the node and the event. `open`: behind a lab's address
    it runs the lesson and goes there."""

    lesson: str
    course: str | None
    t_us: int
    node: str
    event: str
    open: str


class AnswerGraded(Closed):
    """What became of an answer. `given`: as it was understood; `answer`: the right one."""

    question: str
    grade: Literal["right", "near", "wrong"]
    given: Any
    answer: Any
    why: Titles
    proof: Proof


# -- polls of a class, and following its teacher --------------------------------------------
PollState = Literal["open", "closed", "told", "ended"]
LabAddress = Annotated[str, Field(max_length=60, pattern=r"^(/labs/[A-Za-z0-9][A-Za-z0-9._-]*)?$")]


class NewPoll(BaseModel):
    """Which question a class is asked."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"question": "acks-1.prediction"}]})
    question: QuestionName


class PollChange(BaseModel):
    """What becomes of a poll."""

    model_config = ConfigDict(extra="forbid")
    state: PollState


class Vote(BaseModel):
    """A student's answer to the poll of his class."""

    model_config = ConfigDict(extra="forbid")
    answer: Given


class Lead(BaseModel):
    """What a class is to look at; nothing of a run: its present."""

    model_config = ConfigDict(extra="forbid")
    lab: LabAddress = ""
    run: Annotated[str, Field(max_length=100)] | None = None
    lesson: Annotated[str, Field(max_length=100)] | None = None
    t_us: Annotated[int, Field(ge=0, le=1 << 62)] | None = None
    playing: bool = False
    speed: Annotated[float, Field(ge=0, le=1000)] = 1.0


class Bar(Closed):
    """How many have given an answer; `right`: once all were told."""

    answer: Any
    count: int
    right: bool | None


class PollView(Closed):
    """A poll as the teacher sees it. `answers` of so many `students`; without a poll `question` is null."""

    version: int
    question: QuestionView | None
    state: PollState | None
    students: int
    answers: int
    bars: list[Bar]
    told: AnswerGraded | None


class OwnPoll(Closed):
    """The poll of one's class. `given`: one's own answer; `graded`: once all were told."""

    version: int
    question: QuestionView | None
    state: PollState | None
    given: Any
    graded: AnswerGraded | None


class LeadView(Closed):
    """What the class is to look at; null when nobody leads."""

    version: int
    look: dict[str, Any] | None
