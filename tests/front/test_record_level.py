"""`up --record-level`: what a live lab's journal keeps, and that it is executed again at the same level."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker_core.kernel.events import LEVEL_NAMES, REGISTRY
from cli.parser import build_parser
from cli.up import make_spec
from lab.clusters.spec import run_from_dict
from lab.scenarios.export import export_commands
from tests.front.test_commands import brokerlab


def spec_of(*options: str):
    return make_spec(build_parser().parse_args(["up", *options]))


def test_the_level_is_part_of_the_spec_and_of_what_is_exported():
    assert spec_of().record_level == "messages"
    assert "record_level" not in export_commands(spec_of(), [], "by-hand")
    for level in ("transitions", "details"):
        spec = spec_of("--record-level", level)
        assert run_from_dict(spec.to_dict()).record_level == level
        assert export_commands(spec, [], "by-hand")["record_level"] == level


def test_a_level_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        spec_of("--record-level", "state")
    assert (ended.value.code, "transitions" in capsys.readouterr().err) == (2, True)


def levels(journal: Path) -> set[str]:
    """Levels of the rows."""
    return {LEVEL_NAMES[REGISTRY[json.loads(line)[3]].level] for line in journal.open()}


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_a_live_lab_records_what_was_asked_for_and_verify_agrees(run_lab, level):
    lab = run_lab("--record-level", level, "--preset", "teaching")
    assert lab.stop() == 0
    run = lab.data / "runs" / "0001"
    assert levels(run / "journal.jsonl") == set(LEVEL_NAMES[: LEVEL_NAMES.index(level) + 1])
    assert ('"request_stages"' in (run / "journal.jsonl").read_text()) == (level == "details")
    done = brokerlab("verify", str(run))
    assert done.returncode == 0, done.stdout + done.stderr
