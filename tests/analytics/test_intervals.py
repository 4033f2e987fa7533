"""What is said of a few runs: quartiles and Wilson's interval, against values that books give."""

from __future__ import annotations

import pytest

from lab.analytics.intervals import quartiles, wilson


@pytest.mark.parametrize(("hits", "of", "low", "high"), [(0, 20, 0.0, 0.1611), (20, 20, 0.8389, 1.0), (10, 20, 0.2993, 0.7007), (1, 10, 0.0179, 0.4042)])
def test_the_interval_of_a_share_is_wilsons(hits, of, low, high):
    assert wilson(hits, of) == pytest.approx((low, high), abs=1e-4)


def test_more_runs_make_the_interval_narrower_and_no_runs_say_nothing():
    widths = [high - low for low, high in (wilson(n // 2, n) for n in (4, 20, 100, 1000))]
    assert widths == sorted(widths, reverse=True) and wilson(0, 0) == (None, None)


def test_quartiles_of_few_values():
    assert quartiles([]) == (None, None, None) and quartiles([7]) == (7, 7, 7)
    assert quartiles([5, 1, 3, 2, 4]) == (2, 3, 4)
