"""The longest silence of a run: one definition for expectations and for sweeps."""

from __future__ import annotations

from lab.analytics.simulate import longest_gap


def test_the_silence_at_the_end_of_the_load_counts():
    operations = [{"op": "send", "kind": kind, "t": t, "topic": "orders", "partition": 0} for kind, t in
                  (("invoke", 1_000_000), ("ok", 1_500_000), ("ok", 40_000_000))]
    facts = {"began_us": 500_000, "end_us": 45_000_000, "scenario": {"duration": "30s"}, "steps": [{"seq": 1, "t_us": 20_000_000}]}
    assert longest_gap(operations, facts) == 29.0
    assert longest_gap(operations, facts | {"steps": [{"seq": 1, "t_us": 32_000_000}]}) == 30.5
    assert longest_gap(operations, facts | {"scenario": None}) == 38.5
    assert longest_gap([], facts) is None
