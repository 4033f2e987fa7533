"""What the command line says of labs beside the first: how many, for whom, and what each may take."""

from __future__ import annotations

import pytest

from cli.errors import CommandError
from cli.parser import FOR_A_CLASS, build_parser
from cli.up import limits_of
from lab.limits import UNLIMITED, Limits


def limits(*words: str) -> Limits:
    return limits_of(build_parser().parse_args(list(words)))


def test_a_lab_has_no_limits_but_those_that_are_named() -> None:
    assert limits("up") == UNLIMITED
    assert limits("up", "--lab-limit", "disk_mb=300", "--lab-limit", "brokers=4") == Limits(brokers=4, disk_mb=300)


def test_a_server_for_a_class_can_be_reached_and_gives_each_a_part_of_the_machine() -> None:
    found = build_parser().parse_args(["serve", "--class"])
    assert (found.host, found.labs, found.command) == ("0.0.0.0", 40, ("up", "up")) and found.hosts >= 1
    assert limits("serve", "--class") == Limits(**FOR_A_CLASS)
    assert limits("serve", "--class", "--lab-limit", "records=0").records == 0


@pytest.mark.parametrize("given", ["disk=3", "disk_mb", "disk_mb=-1", "disk_mb=x", "="])
def test_what_is_no_limit_is_named(given: str) -> None:
    with pytest.raises(CommandError, match="is no limit of a lab: NAME=NUMBER with one of brokers, records, disk_mb"):
        limits("up", "--lab-limit", given)
