"""A poll: one question for a whole class, answered on the students' own pages before the teacher presses play.

    open --> closed --> told         nobody answers any more; the right answer is shown
      '---------'--------'--> ended  it is gone from the students' pages; what was answered stays for the export

A class has one poll at a time. Until it is closed everybody may change his mind. The answers are graded as they come
in, and nobody is told before the teacher tells all.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
from django.db import transaction

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from lab.quizzes.grading import graded
from lab.quizzes.questions import Question
from lab.quizzes.reading import all_questions
from lab.quizzes.recorded import answer_of
from web.people.changes import changes
from web.people.models import CLOSED, ENDED, OPEN, TOLD, Classroom, Poll, Seat, Vote

Plain = dict[str, Any]
MOST_BARS = 12
LATER = {OPEN: (CLOSED, TOLD, ENDED), CLOSED: (OPEN, TOLD, ENDED), TOLD: (ENDED,)}
"""State => what it may become."""


class NoPoll(Refusal):
    """There is none, or it takes no answer, or it cannot become that."""


def states_of(code: str) -> str:
    """Under which students wait for news: a poll was opened, closed, told, ended."""
    return f"{code}/poll"


def votes_of(code: str) -> str:
    """Under which a teacher waits for news: the same, and each answer."""
    return f"{code}/votes"


def current(room: Classroom) -> Poll | None:
    """The poll of a class that has not ended."""
    return room.polls.exclude(state=ENDED).order_by("-id").first()


def question_of(poll: Poll) -> Question:
    """What is asked. Raises NoPoll for one that an older version of the lab had."""
    found = all_questions().get(poll.question)
    if found is None:
        raise NoPoll(problem("no_question", name=poll.question), "question")
    return found


def begin(room: Classroom, question: Question) -> Poll:
    """Ask a class; the poll before it has ended."""
    with transaction.atomic():
        room.polls.exclude(state=ENDED).update(state=ENDED)
        made = Poll.objects.create(classroom=room, question=question.name)
    _told(room.code)
    return made


def become(room: Classroom, state: str) -> None:
    """Raises NoPoll where there is none, or it is further already."""
    poll = current(room)
    if poll is None:
        raise NoPoll(problem("no_poll"), "state")
    if state not in LATER[poll.state]:
        raise NoPoll(problem("poll_is", given=poll.state), "state")
    poll.state = state
    poll.save()
    _told(room.code)


def _told(code: str) -> None:
    changes.told(states_of(code))
    changes.told(votes_of(code))


def vote(seat: Seat, given: Any) -> Vote:
    """A student's answer; the last one counts. Raises NoPoll, NoAnswer."""
    with transaction.atomic():
        poll = Poll.objects.select_for_update().filter(classroom=seat.classroom, state=OPEN).order_by("-id").first()
        if poll is None:
            raise NoPoll(problem("no_open_poll"), "answer")
        found = graded(question_of(poll), given)
        made, _ = Vote.objects.update_or_create(
            poll=poll, seat=seat, defaults={"answer": found.given, "grade": found.grade}
        )
    changes.told(votes_of(seat.classroom_id))
    return made


def own(seat: Seat) -> tuple[Poll, Vote | None] | None:
    """The poll of a student's class, with what he has answered."""
    poll = current(seat.classroom)
    return None if poll is None else (poll, poll.votes.filter(seat=seat).first())


# -- the histogram --------------------------------------------------------------------------
def bars(poll: Poll, question: Question) -> list[Plain]:
    """How often which answer was given: each choice; of other questions what was given, most often first."""
    counted = Counter(orjson.dumps(one.answer) for one in poll.votes.all())
    known: list[Any] = list(range(len(question.options)))
    keys = [orjson.dumps(one) for one in known]
    keys += [key for key, _ in counted.most_common() if key not in keys]
    answer = answer_of(question)
    right = orjson.dumps(answer.value) if answer is not None and poll.state == TOLD else None
    return [{"answer": orjson.loads(key), "count": counted[key], "right": None if right is None else key == right}
            for key in keys[:MOST_BARS]]  # fmt: skip


def exported(room: Classroom) -> list[Plain]:
    """All polls of a class, with who answered what."""
    return [
        {"question": poll.question, "state": poll.state, "opened": poll.opened.isoformat(),
         "answers": [{"student": one.seat.number, "answer": one.answer, "grade": one.grade}
                     for one in poll.votes.select_related("seat").order_by("seat__number")]}
        for poll in room.polls.order_by("id")
    ]  # fmt: skip
