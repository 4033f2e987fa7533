"""The scripts of docs/rest.md do what is written there, as they stand; its table has every operation."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import CHECKOUT, StartedLab
from tests.web.live_rest import Rest, rest
from tests.web.rest import Caller

from web.api.api import api

__all__ = ["rest"]

TABLE = (CHECKOUT / "docs" / "rest.md").read_text().split("## What there is", 1)[1].split("\n\n", 2)[1]
HOLES = {"labs/lab": "labs/{lab}", "runs/RUN": "runs/{run}", "topics/TOPIC": "topics/{topic}", "scenarios/NAME": "scenarios/{name}", "exercises/NAME": "exercises/{name}", "quizzes/NAME": "quizzes/{name}",
         "jobs/ID": "jobs/{job}", "replays/ID": "replays/{replay}", "sweeps/ID": "sweeps/{sweep}",
         "classes/CODE": "classes/{code}", "tasks/NAME": "tasks/{exercise}", "hand-ins/ID": "hand-ins/{number}", "students/N": "students/{number}",
         "packs/EXERCISE": "packs/{exercise}", "reports/ID": "reports/{report}", "groups/N": "groups/{group}", "teachers/NAME": "teachers/{name}"}  # fmt: skip
SCRIPTS = re.findall(r"```python\n(.*?)```", (CHECKOUT / "docs" / "rest.md").read_text(), re.DOTALL)


def run_script(page: str, text: str, place: Path) -> list[str]:
    """Its lines, against this lab instead of port 8000."""
    assert len([line for line in text.splitlines() if line.strip()]) <= 11
    place.write_text(text.replace("http://127.0.0.1:8000/", page))
    done = subprocess.run([sys.executable, str(place)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def told() -> set[str]:
    """`GET labs/{lab}` for each operation in the table of the guide. A method holds until the next one of its row;
    those without an address wait for the next one that has one."""
    found: set[str] = set()
    for row in TABLE.splitlines()[2:]:
        methods: list[str] = []
        waiting: list[str] = []
        for spoken in re.findall(r"`([^`]+)`", row.split(" | ")[0]):
            method, _, address = spoken.rpartition(" ")
            if address.isupper():
                waiting.append(address)
                continue
            if method:
                methods, waiting = [*waiting, method], []
            path = address.split("?")[0]
            for short, whole in HOLES.items():
                path = path.replace(short, whole)
            found |= {f"{one} {path}" for one in methods}
    return found


def test_the_table_of_the_guide_has_every_operation_and_no_other() -> None:
    described = api.get_openapi_schema()["paths"]
    operations = {f"{method.upper()} {path.removeprefix('/api/')}" for path, methods in described.items() for method in methods}
    assert told() == operations


@pytest.mark.slow
def test_both_scripts_of_the_guide_run_as_they_are_written(run_lab: Callable[..., StartedLab], tmp_path: Path) -> None:
    lab = run_lab("--preset", "teaching", web=True)
    experiment, failover, _ = SCRIPTS
    controller = Caller(lab.page).get("labs/lab/snapshot").json["state"]["cluster"]["controller"]
    (told,) = run_script(lab.page, failover, tmp_path / "failover.py")
    found = re.fullmatch(r"broker (\d) led, broker (\d) leads, epoch (\d)", told)
    assert found is not None and found[1] != found[2], told
    # When the controller led, the next one takes it out of the ISR before it holds the election: two epochs.
    assert found[3] == ("2" if int(found[1]) == controller else "1"), (told, controller)
    valid, *runs = run_script(lab.page, experiment, tmp_path / "experiment.py")
    assert valid == "True"
    seeds, lost, same = zip(*(line.split() for line in runs), strict=True)
    assert (seeds, same) == (("1", "2", "3"), ("True",) * 3)
    assert all(int(number) > 0 for number in lost)


@pytest.mark.slow
def test_the_script_that_waits_for_a_condition_sees_the_next_leader(rest: Rest, tmp_path: Path) -> None:
    (told,) = run_script(rest.url, SCRIPTS[2], tmp_path / "waits.py")
    met, led, leads = told.split()
    assert met == "True" and led != leads and {led, leads} < {"1", "2", "3"}
