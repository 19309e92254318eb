"""The waterfall's geometry."""

import pytest

from retrieval.debugger.timeline import timeline, window_of

SPANS = [
    {"step": "dense", "start_ms": 24.0, "ms": 30.0, "depth": 1},
    {"step": "scope", "start_ms": 21.0, "ms": 0.4, "depth": 1},
    {"step": "recall", "start_ms": 20.5, "ms": 47.0, "depth": 0},
    {"step": "ext:wiki", "start_ms": 96.0, "ms": 0.5, "depth": 0},
]


def test_steps_stand_in_the_order_in_which_they_began():
    drawn = timeline(SPANS, total_ms=97.0)
    assert [bar.ms for bar in drawn.bars] == [47.0, 0.4, 30.0, 0.5]
    assert [bar.is_sub for bar in drawn.bars] == [False, True, True, False]
    assert drawn.labels == ("0", "20", "40", "60", "80", "100 ms")


def test_what_is_too_short_for_a_bar_gets_a_tick_and_late_ones_their_value_on_the_left():
    _recall, scope, dense, late = timeline(SPANS, total_ms=97.0).bars
    assert (scope.is_short, dense.is_short, late.is_short) == (True, False, True)
    assert (scope.is_late, late.is_late) == (False, True)
    assert (dense.x, dense.width) == ("24.00%", "30.00%")


def test_a_zoom_has_lines_every_twenty_milliseconds_and_leaves_out_the_rest():
    window = window_of(SPANS, "recall")
    drawn = timeline(SPANS, total_ms=97.0, zoom=window)
    assert (window.begin, window.end) == (20.0, 80.0)
    assert drawn.labels == ("20", "40", "60", "80 ms")
    assert len(drawn.bars) == 3


@pytest.mark.parametrize("total", [0.0, 0.3, 7.0, 1940.0, 61_000.0])
def test_every_length_has_a_readable_axis(total):
    assert 2 <= len(timeline([], total_ms=total).labels) <= 7


def test_a_long_recall_has_no_thousand_lines():
    spans = [{"step": "recall", "start_ms": 0.0, "ms": 30_000.0, "depth": 0}]
    assert len(timeline(spans, total_ms=30_000.0, zoom=window_of(spans, "recall")).lines) < 40
