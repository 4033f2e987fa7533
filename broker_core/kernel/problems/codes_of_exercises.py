"""Codes of problems with exercises and attempts at them."""

from __future__ import annotations

from broker_core.kernel.problems.registry import found_in

found_in("lab.exercises")(
    no_levers="", no_goals="", two_seeds="",
    not_this_exercise="name",
    shown_task="name n", shown_lever="name known", shown_lever_range="name least most", shown_steps="known most",
    shown_hint="n given what", shown_hints="n", shown_goal="key wanted", shown_goals_of="seeds",
    shown_seed="seed what", shown_reached="n most", shown_not_reached="n", shown_refused="what",
)
found_in("lab.quizzes")(
    no_proof="", one_right_choice="n", nothing_holds="", three_in_order="n", not_set_there="name wanted",
    question_twice="name", undecided="name what", not_recorded="name", code_expected="most", order_expected="n",
    number_expected="least most",
)
found_in("lab.exercises", "lab.quizzes", "lab.scenarios")(
    one_subject="known n",
    two_choices="n",
)
found_in("web.people")(no_poll="", no_open_poll="", poll_is="given")
found_in("web.api", "web.people")(no_question="name")
found_in("lab.exercises", "lab.scenarios")(
    no_file="expected",
)
