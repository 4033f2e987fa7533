"""The script of docs/tour/analytics.md does what is written there, in a session that is not the lab's."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from lab.analytics import places
from lab.analytics.java import find_java
from tests.conftest import CHECKOUT

(SCRIPT,) = re.findall(r"```python\n(.*?)```", (CHECKOUT / "docs" / "tour" / "analytics.md").read_text(), re.DOTALL)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")  # skips where Java is missing
def test_the_script_for_a_session_of_ones_own_runs_as_it_is_written(short_runs, tmp_path):
    run = short_runs / "acks-1"
    (tmp_path / "script.py").write_text(SCRIPT.replace('"brokerlab-data"', repr(str(run))))
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))}
    environment = {**bare, "PYTHONPATH": str(CHECKOUT), "JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, str(tmp_path / "script.py")], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = [tuple(map(int, row)) for row in re.findall(r"^\| +(\d) *\| +(\d+) *\| +(\d+) *\|$", done.stdout, re.MULTILINE)]
    disks = {(one.broker, one.partition) for one in places.segments_of(places.find_runs([run])[0]) if one.topic == "orders"}
    assert [row[:2] for row in counts] == sorted(disks) and sum(row[2] for row in counts) > 0, done.stdout
    led = (run / "journal.jsonl").read_text().count('"became_leader"')
    assert re.search(rf"^\| +became_leader *\| *{led} *\|$", done.stdout, re.MULTILINE), done.stdout
