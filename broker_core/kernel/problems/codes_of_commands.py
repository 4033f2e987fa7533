"""Codes of problems that commands on a terminal find."""

from __future__ import annotations

from broker_core.kernel.problems.registry import found_in

found_in("cli")(
    interrupted="",
    option_is="name what",
    set_form="given",
    set_id="given key",
    set_no_broker="given broker last",
    runs_already="path",
    is_a_file="path",
    cannot_write="path why",
    no_such_file="path",
    takes_files="path name known",
    questions_interrupted="n most",
    runs_interrupted="n most",
    not_complete="what path",
    no_setting_named="given",
    clients_are_told="",
    no_such_port="place port name",
    no_address="place address name",
    port_taken="place port name",
    port_unusable="place port why name",
    brokers_ended="",
    brokers_not_up="",
    needs_checkout="name",
    no_such_limit="given names",
)
found_in("cli", "lab.analytics")(
    no_package="name",
    not_readable_file="path why",
)
