"""What classes look like over REST, and what is sent to them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from web.api.answers_bytes import Closed, Coded
from web.api.answers_exercises import GradeView, Titles
from web.api.schemas import Document, Seed

State = Literal["queued", "running", "passed", "missed", "refused", "forged", "failed"]
CellState = Literal["none", "opened", "queued", "running", "passed", "missed", "refused", "forged", "failed"]
LessonGrade = Literal["right", "near", "wrong", "seen"]
Code = Annotated[str, Field(max_length=8)]
Since = Annotated[int, Field(ge=0, le=1 << 62)]
ExerciseName = Annotated[str, Field(max_length=100)]


# -- sent -----------------------------------------------------------------------------------
class NewClass(BaseModel):
    """A class that is to be made."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"title": "Distributed systems"}]})
    title: Annotated[str, Field(min_length=1, max_length=100)]


class NewTeacher(BaseModel):
    """An account that is to be made; without a password one is drawn."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Ada"}]})
    name: Annotated[str, Field(min_length=1, max_length=100)]
    password: Annotated[str, Field(max_length=200)] | None = None


class GroupOf(BaseModel):
    """Who is in a group: numbers of students."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"students": [1, 2, 5]}]})
    students: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(max_length=300)]


class NewGroups(BaseModel):
    """A group of some students, or groups of so many of all who are in none."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"size": 4}]})
    students: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(max_length=300)] | None = None
    size: Annotated[int, Field(ge=1, le=300)] | None = None


class ClassChange(BaseModel):
    """What is to be another way from now on."""

    model_config = ConfigDict(extra="forbid")
    title: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    open: bool | None = None


class HandOut(Document):
    """An exercise for a class: one that comes with the lab (`exercise`), or the teacher's own (`yaml`, `document`)."""

    exercise: ExerciseName | None = None
    tries: Annotated[int, Field(ge=1, le=1000)] | None = None
    due: AwareDatetime | None = None


class TakeHint(BaseModel):
    """Which exercise's next hint."""

    model_config = ConfigDict(extra="forbid")
    exercise: ExerciseName


class LessonSeen(BaseModel):
    """A lesson that was seen to its end, and what came of the prediction."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "acks-1", "grade": "right"}]})
    name: Annotated[str, Field(max_length=100)]
    grade: LessonGrade


class OwnLab(BaseModel):
    """A lab for whoever asks: its cluster as in a scenario, and a seed. `shared`: for his group."""

    model_config = ConfigDict(extra="forbid")
    cluster: dict[str, Any] = {"preset": "teaching"}
    seed: Seed | None = None
    shared: bool = False


# -- answered -------------------------------------------------------------------------------
class WhyFailed(Closed):
    """Why a hand-in could not be judged."""

    title: str
    place: str | None
    problem: Coded


class HandInView(Closed):
    """A try in short. `why`: what was missed under the seed `seed`, or why it was refused."""

    id: str
    number: int
    state: State
    progress: float
    points: int
    packed: bool
    hints: int
    created: str
    ended: str | None
    seed: int | None
    why: list[Coded]
    moment: dict[str, int] | None
    error: WhyFailed | None


class WholeGrade(GradeView):
    """What judging said; `moment`: where it was decided in the run of the first seed that was missed, else of the
    first one, where the exercise names such a moment."""

    moment: dict[str, int] | None


class WholeHandIn(HandInView):
    """A try with what was tried and what came of it."""

    exercise: str
    attempt: dict[str, Any]
    grade: WholeGrade | None


class CellView(Closed):
    """Where a student stands with an exercise; `took_s` from opening it to the first try that passed."""

    state: CellState
    points: int
    tries: int
    hints: int
    opened: str | None
    passed: str | None
    took_s: int | None
    last: HandInView | None


class TaskView(Closed):
    """An exercise as it was handed out: points at most, tries at most, the deadline."""

    name: str
    title: Titles
    most: int
    most_tries: int | None
    due: str | None
    given: str


class Exported(Closed):
    """A student with a cell for each exercise, as an export has him. `lessons`: the best result of each that he has
    seen."""

    number: int
    name: str
    joined: str
    points: int
    cells: dict[str, CellView]
    lessons: dict[str, LessonGrade]
    group: int | None


class StudentView(Exported):
    """The same while his class is there. `lab`: the name of his lab; `back`: the address that brings him back."""

    lab: str | None
    back: str


class ClassGroup(Closed):
    """Students who share a lab: their numbers, the name of the lab."""

    number: int
    students: list[int]
    lab: str | None


class TeacherView(Closed):
    """A teacher with an account."""

    name: str
    classes: int
    made: str


class Teachers(Closed):
    """All of them."""

    items: list[TeacherView]
    total: int


class MadeTeacher(Closed):
    """An account that was made, with its password and the page at which it is asked for."""

    name: str
    password: str
    door: str


class ClassView(Closed):
    """A class in short."""

    code: str
    title: str
    open: bool
    created: str
    students: int
    tasks: int


class Classes(Closed):
    """All classes of this server."""

    items: list[ClassView]
    total: int


class Grid(Closed):
    """Students by exercises. `version` grows with whatever happens; `door`: where the class is joined."""

    version: int
    door: str
    code: str
    title: str
    open: bool
    created: str
    tasks: list[TaskView]
    students: list[StudentView]
    groups: list[ClassGroup]


class AnsweredView(Closed):
    """What a student has answered to a question: the best grade, the first one, how often."""

    grade: LessonGrade
    first: LessonGrade
    tries: int


class ExportedStudent(Exported):
    """A student with all that he has answered. `first_lessons`: what his first prediction for a lesson was."""

    questions: dict[str, AnsweredView]
    first_lessons: dict[str, LessonGrade]


class ExportedHandIn(WholeHandIn):
    """A try, and whose it was: the number of a student."""

    student: int


class ExportedVote(Closed):
    """What a student has answered to a poll."""

    student: int
    answer: Any
    grade: str


class ExportedPoll(Closed):
    """A question that the class was asked."""

    question: str
    state: str
    opened: str
    answers: list[ExportedVote]


class ExportedGroup(Closed):
    """Numbers of students who share a lab."""

    number: int
    students: list[int]


class ExportedLab(Closed):
    """A lab that a student or a group has begun: whose it is, and what it was built from."""

    name: str
    student: int | None
    group: int | None
    cluster: dict[str, Any]
    seed: int
    limits: dict[str, int]
    created: str


class Everything(Closed):
    """All that is known of a class. `exercises`: the document of each that was handed out, by its name."""

    code: str = Field(alias="class")
    title: str
    open: bool
    created: str
    tasks: list[TaskView]
    students: list[ExportedStudent]
    hand_ins: list[ExportedHandIn]
    exercises: dict[str, dict[str, Any]]
    polls: list[ExportedPoll]
    groups: list[ExportedGroup]
    labs: list[ExportedLab]


class OwnTask(TaskView, CellView):
    """An exercise, and where one stands with it."""


class OwnGroup(Closed):
    """With whom one shares a lab, and which."""

    number: int
    names: list[str]
    lab: str | None


class Me(Closed):
    """Who asks: `level` is what he may (`act`, `learn`, `look`); all else of somebody who has joined a class."""

    level: str
    version: int
    code: str | None
    title: str | None
    number: int | None
    name: str | None
    points: int
    tasks: list[OwnTask]
    lab: str | None
    group: OwnGroup | None


class Learned(Closed):
    """Lesson -> the best result."""

    results: dict[str, LessonGrade]


class Answered(Closed):
    """Question -> what was answered."""

    results: dict[str, AnsweredView]


class HintsTold(Closed):
    """All hints that were taken, and what they cost together."""

    hints: list[Titles]
    price: int
