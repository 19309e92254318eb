"""Borders by hand-worked examples."""

from ingestion.chunking.partition import Sizes, best_borders


def test_pieces_are_even():
    assert best_borders([10] * 8, [0.0] * 8, [0] * 8, Sizes(goal=40, limit=60, step=1)) == [4, 8]


def test_a_dear_border_is_avoided():
    borders = [0.0] * 8
    borders[4] = 2.0
    assert best_borders([10] * 8, borders, [0] * 8, Sizes(goal=40, limit=60, step=1)) in ([3, 8], [5, 8])


def test_what_is_repeated_counts():
    assert best_borders([10] * 6, [0.0] * 6, [0, 30, 30, 30, 30, 30], Sizes(goal=40, limit=40, step=1)) == [
        4,
        5,
        6,
    ]


def test_one_atom_above_the_limit_stands_alone():
    assert best_borders([10, 90, 10], [0.0] * 3, [0] * 3, Sizes(goal=40, limit=50, step=1)) == [1, 2, 3]
