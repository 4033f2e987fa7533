"""What the shell tells of exercises: the task, and what became of an attempt."""

from __future__ import annotations

from broker_core.kernel.problems import Problem, problem, told
from lab.exercises.grading import Grade
from lab.exercises.levers import Lever
from lab.exercises.reading import Exercise
from lab.experiments.shown import text_of
from lab.scenarios import subjects

SEEDS_SHOWN = 5


def list_lines(exercises: list[Exercise], language: str) -> list[str]:
    """All of them, under the headings of lessons."""
    lines = []
    for group in subjects.grouped((one.name, one.subject) for one in exercises):
        lines.append(text_of(group["title"], language))
        for name in group["scenarios"]:
            one = next(one for one in exercises if one.name == name)
            lines.append(f"  {name:36} {one.points:3}  {text_of(one.title, language)}")
    return lines


def task_lines(exercise: Exercise, language: str, hints: int = 0) -> list[str]:
    """What is asked, with what it may be reached, and the first so many hints."""
    found = [problem("shown_task", name=text_of(exercise.title, language), n=exercise.points)]
    lines = [told(one, language) for one in found] + [text_of(exercise.task, language).rstrip(), ""]
    levers = exercise.levers
    found = [_lever(one) for one in levers.sets.values()]
    if levers.commands:
        found.append(problem("shown_steps", known=list(levers.commands), most=levers.most_steps))
    found += [problem("shown_goal", key=key, wanted=str(wanted)) for key, wanted in exercise.goals.items()]
    if len(exercise.seeds) > 1:
        found.append(problem("shown_goals_of", seeds=len(exercise.seeds)))
    given = exercise.hints[:hints]
    found += [problem("shown_hint", n=number, given=one.price, what=text_of(one.text, language).strip())
              for number, one in enumerate(given, 1)]  # fmt: skip
    if len(given) < len(exercise.hints):
        found.append(problem("shown_hints", n=len(exercise.hints) - len(given)))
    return lines + [told(one, language) for one in found]


def _lever(lever: Lever) -> Problem:
    name = f"{lever.name} = {lever.label}"
    if lever.choices:
        return problem("shown_lever", name=name, known=[str(one) for one in lever.choices])
    return problem("shown_lever_range", name=name, least=lever.least, most=lever.most)


def grade_lines(exercise: Exercise, grade: Grade, language: str) -> list[str]:
    """Whether the goals were reached; if not, where not, if so, why it is so."""
    if grade.refused:
        return [told(problem("shown_refused", what=one), language) for one in grade.refused]
    failed = [one for one in grade.outcomes if not one.passed]
    found = [problem("shown_seed", seed=one.seed, what=what) for one in failed[:SEEDS_SHOWN] for what in one.unmet]
    if failed:
        found.append(problem("shown_not_reached", n=len(failed)))
    else:
        found.append(problem("shown_reached", n=grade.points, most=grade.most))
    moment = grade.decisive.moment if grade.decisive is not None else None
    if moment is not None:
        found.append(problem("shown_moment", s=f"{moment['t_us'] / 1e6:.3f}", seq=moment["seq"]))
    why = [] if failed else text_of(exercise.why, language).rstrip().splitlines()
    return [*(told(one, language) for one in found), *why]
