"""`python -m lab.quizzes [LESSON...]`: runs what is asked about, or only these lessons, and records the answers."""

from __future__ import annotations

import sys

from lab.quizzes import recorded
from lab.quizzes.deciding import Undecided


def main(lessons: list[str]) -> int:
    """Exit code: 1 when some run does not answer what it is asked."""
    found = recorded.answers() if recorded.FILE.exists() else {}
    found, failed = dict(found), 0
    for lesson, course in recorded.courses():
        if lessons and lesson not in lessons:
            continue
        try:
            found |= recorded.run(lesson, course)
        except Undecided as error:
            print(f"{lesson} {course or ''}: {error}", file=sys.stderr)
            failed += 1
    recorded.write(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
