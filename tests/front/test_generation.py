"""Of which generation of Kafka a lab is that `up` starts: today's, unless options or the directory say otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.errors import CommandError
from cli.parser import build_parser
from cli.up import make_spec
from lab.clusters.brokers import ClusterSpec


def cluster_of(*options: str) -> ClusterSpec:
    return make_spec(build_parser().parse_args(["up", *options])).cluster


@pytest.mark.parametrize(("options", "controller"), [
    ([], "kraft"), (["--controllers", "3"], "kraft"), (["--brokers", "1"], "kraft"), (["--controller", "zookeeper"], "zookeeper"),
    (["--ensemble", "3"], "zookeeper"), (["--era", "3.9"], "zookeeper"), (["--era", "2.x"], "zookeeper"), (["--era", "4.3"], "kraft"),
])  # fmt: skip
def test_it_is_todays_unless_something_of_the_other_one_is_asked_for(options: list[str], controller: str, tmp_path: Path) -> None:
    assert cluster_of("--data", str(tmp_path), *options).controller == controller


def test_what_exists_in_the_other_generation_only_is_told_or_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster_of("--data", str(tmp_path), "--set", "zookeeper.session.timeout.ms=6000")
    assert "only in ZooKeeper mode" in capsys.readouterr().err
    with pytest.raises(CommandError):
        cluster_of("--data", str(tmp_path), "--ensemble", "3", "--controller", "kraft")


@pytest.mark.parametrize(("version", "controller"), [(0, "zookeeper"), (1, "kraft")])
def test_a_directory_goes_on_with_its_own(version: int, controller: str, tmp_path: Path) -> None:
    meta = tmp_path / "broker-1" / "data" / "meta.properties"
    meta.parent.mkdir(parents=True)
    meta.write_text(f"version={version}\n")
    assert cluster_of("--data", str(tmp_path)).controller == controller
