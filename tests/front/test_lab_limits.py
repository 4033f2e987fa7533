"""What the command line says of labs beside the first: how many, for whom, and what each may take."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from cli.errors import CommandError
from cli.parser import FOR_A_CLASS, build_parser
from cli.up import announce, limits_of, make_spec
from cli.words import Words
from lab.limits import UNLIMITED, Limits
from lab.live import LiveLab


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


def test_whoever_serves_a_class_is_told_where_to_make_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, told in ((["serve", "--class"], 1), (["up"], 0)):
        found = build_parser().parse_args(given)
        lab = LiveLab(make_spec(found), tmp_path)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            announce(lab, [("127.0.0.1", 9092)], listener, Words("ko"), found.labs > 0)
            place = f"http://127.0.0.1:{listener.getsockname()[1]}/classes/"
        assert capsys.readouterr().out.count(f"\nClasses: {place}    (여기서 반을 만듭니다.") == told


@pytest.mark.parametrize("given", ["disk=3", "disk_mb", "disk_mb=-1", "disk_mb=x", "="])
def test_what_is_no_limit_is_named(given: str) -> None:
    with pytest.raises(CommandError, match="is no limit of a lab: NAME=NUMBER with one of brokers, records, disk_mb"):
        limits("up", "--lab-limit", given)
