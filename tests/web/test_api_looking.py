"""The past, one message, and what two runs differ in, over REST: the answers that the page gets."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.web.live_rest import Rest, produced, refused, rest

__all__ = ["rest"]


def test_the_past_is_a_state_and_what_followed_it(rest: Rest) -> None:
    now = rest.get("labs/lab").json["seq"]
    found = rest.get(f"labs/lab/history?seq={now}").json
    assert found["seq"] <= now and found["snap"]["state"]["brokers"].keys() == {"1", "2", "3"}
    rows, after = list(found["ev"]), found["last"]
    while not found["whole"]:
        found = rest.get(f"labs/lab/history?seq={now}&after={after}").json
        rows, after = rows + found["ev"], found["last"]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    refused(rest.get("labs/lab/history?seq=-1"), 422, "seq")
    refused(rest.get("labs/lab/history?seq=1&run=9999"), 404, "run")


def test_a_message_that_has_arrived_is_found_with_its_bytes(rest: Rest) -> None:
    produced(rest, "seen")
    sent = [row for row in rest.get("labs/lab/events?codes=request_sent&limit=10000").json["items"]
            if row[5]["api"] == "Produce"][-1]  # fmt: skip
    wanted = {"seq": sent[0], "from": sent[3], "to": sent[5]["to"], "api": "Produce", "version": sent[5]["version"],
              "correlation": sent[5]["correlation"]}  # fmt: skip
    found = rest.get(f"labs/lab/message?{urlencode(wanted)}")
    assert found.status == 200, found
    assert found.json["fields"] and "bytes" in found.json or "hex" in found.json, found.json.keys()
    nothing = rest.get(f"labs/lab/message?{urlencode({**wanted, 'api': 'Nonsense'})}")
    refused(nothing, 422, "api", "there is no request")


def test_two_branches_that_went_different_ways_are_laid_side_by_side(rest: Rest) -> None:
    produced(rest, "both")
    live = rest.lab.run_id
    fork = rest.post("labs/lab/forks?wait=30", {}).json["run"]
    same = rest.get(f"labs/lab/compare?runs={live}&runs={fork}").json["runs"]
    assert same[live]["partitions"]["orders-0"]["hash"] == same[fork]["partitions"]["orders-0"]["hash"] is not None
    produced(rest, "live only")
    other = rest.get(f"labs/lab/compare?runs={live}&runs={fork}").json["runs"]
    assert other[live]["partitions"]["orders-0"]["hash"] != other[fork]["partitions"]["orders-0"]["hash"]
    assert rest.delete(f"labs/lab/runs/{fork}").status == 204
    refused(rest.get(f"labs/lab/compare?runs={fork}"), 404, "run")
    refused(rest.get("labs/lab/compare"), 422, "runs")


def test_a_fork_whose_command_is_refused_leaves_no_branch_open(rest: Rest) -> None:
    before = len(rest.get("labs/lab/runs").json["open"])
    refused(rest.post("labs/lab/forks?wait=30", {"commands": [{"do": "kill", "broker": 9}]}), 422, "commands[0].broker")
    assert len(rest.get("labs/lab/runs").json["open"]) == before


def test_time_is_a_command_like_any_other_also_in_a_branch(rest: Rest) -> None:
    fork = rest.post("labs/lab/forks?wait=30", {}).json["run"]
    before = rest.get(f"labs/lab/snapshot?run={fork}").json
    for _ in range(5):
        assert rest.post(f"labs/lab/commands?run={fork}", {"do": "time", "speed": "step_event"}).json["ok"]
        now = rest.get(f"labs/lab/snapshot?run={fork}").json
        assert now["t"] >= before["t"] and now["seq"] > before["seq"], "a step is seen"
        before = now
    assert rest.post(f"labs/lab/commands?run={fork}", {"do": "time", "speed": 0.1}).json["speed"] == 0.1
    rest.delete(f"labs/lab/runs/{fork}")
