"""Codes of problems with classes: joining one, handing in, asking for what is somebody else's."""

from __future__ import annotations

from broker_core.kernel.problems.registry import found_in

found_in("web.rights", "web.api")(
    not_yours="",
)
found_in("web.rights")(
    hint_has_its_price="",
)
found_in("web.people")(
    class_closed="",
    name_taken="name",
    class_full="most",
    no_more_hints="n",
    deadline_over="due",
    one_at_a_time="",
    no_more_tries="most",
)
found_in("web.api")(
    no_hand_in="name",
    nothing_to_run="",
    no_seat="",
    in_no_group="",
)
found_in("web.people")(
    password_short="least",
    no_teacher="name",
    no_group_of_class="n",
)
found_in("web.api", "web.people")(
    no_student="n",
    name_of_letters="most",
    no_class="",
    not_handed_out="name",
)
found_in("web.api", "web.guard")(
    no_database="",
)
