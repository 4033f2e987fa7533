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
found_in("lab.exercises", "lab.scenarios")(
    one_subject="known n",
    two_choices="n",
    no_file="expected",
)
