"""The worker process: progress, answers, cancel, death and a new start."""

from __future__ import annotations

import os
import queue
import signal

import pytest

from lab.analytics.client import SparkWorker

pytestmark = pytest.mark.slow


def until(events, number, *names):
    """Events of a job up to one of these; fails when none comes in time."""
    found = []
    while True:
        event = events.get(timeout=120)
        if event.get("id") == number:
            found.append(event)
            if event["event"] in names:
                return found


def test_a_worker_answers_is_cancelled_dies_and_starts_again(spark, short_runs, tmp_path):
    events: queue.Queue = queue.Queue()
    worker = SparkWorker(events.put, "local[2]")
    try:
        first = worker.submit({"do": "replay", "paths": [str(short_runs / "acks-1")], "queries": ["receipt"], "out": str(tmp_path)})
        ready = events.get(timeout=60)
        assert ready["event"] == "ready"
        found = until(events, first, "done", "failed")
        kinds = [event["event"] for event in found]
        assert kinds[:3] == ["queued", "started", "session"] and kinds[-1] == "done"
        assert {"stage", "progress", "answer"} <= set(kinds)
        answer = next(event for event in found if event["event"] == "answer")
        assert answer["query"] == "receipt" and answer["rows"][0]["lost"] > 0
        assert (tmp_path / "report.html").exists()

        wrong = worker.submit({"do": "replay", "paths": [str(tmp_path / "nowhere")]})
        assert until(events, wrong, "failed")[-1]["error"].endswith("no such directory")

        long = worker.submit({"do": "sweep", "scenario": "acks-all", "seeds": "1..500"})
        waiting = worker.submit({"do": "replay", "paths": [str(short_runs)]})
        until(events, long, "started")
        worker.cancel(waiting)
        assert until(events, waiting, "cancelled", "done")[-1]["event"] == "cancelled"
        worker.cancel(long)
        assert until(events, long, "cancelled", "done", "failed")[-1]["event"] == "cancelled"

        lost = worker.submit({"do": "sweep", "scenario": "acks-all", "seeds": "1..500"})
        until(events, lost, "started")
        os.kill(ready["pid"], signal.SIGKILL)
        assert "has ended (exit code -9)" in until(events, lost, "failed")[-1]["error"]
        again = worker.submit({"do": "replay", "paths": [str(short_runs / "acks-all")], "queries": ["receipt"]})
        assert until(events, again, "done", "failed")[-1]["event"] == "done"
    finally:
        worker.stop()
    assert not worker.alive
