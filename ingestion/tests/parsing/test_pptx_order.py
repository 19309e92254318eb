"""The order of the shapes of a slide."""

from lxml import etree

from ingestion.parsing.drawings import A
from ingestion.parsing.pptx_order import as_seen


def _shape(text: str, *place: int) -> etree._Element:
    shape = etree.Element("{p}sp")
    if place:
        frame = etree.SubElement(etree.SubElement(shape, "{p}spPr"), f"{A}xfrm")
        left, top, width, height = (str(each * 100_000) for each in place)
        etree.SubElement(frame, f"{A}off", x=left, y=top)
        etree.SubElement(frame, f"{A}ext", cx=width, cy=height)
    etree.SubElement(shape, f"{A}t").text = text
    return shape


def _seen(*shapes: etree._Element) -> list[str]:
    return ["".join(shape.itertext()) for shape in as_seen(shapes)]


def test_a_band_is_read_before_the_columns_below_it_and_the_left_column_first() -> None:
    right = _shape("right", 50, 15, 40, 30)
    shapes = (
        right,
        _shape("low left", 5, 30, 40, 10),
        _shape("left", 5, 15, 40, 10),
        _shape("top", 5, 3, 80, 10),
    )
    assert _seen(*shapes) == ["top", "left", "low left", "right"]


def test_shapes_stay_as_written_where_one_says_no_place_or_they_lie_on_each_other() -> None:
    assert _seen(_shape("b", 5, 30, 40, 10), _shape("a")) == ["b", "a"]
    assert _seen(_shape("b", 5, 10, 40, 10), _shape("a", 5, 5, 40, 12)) == ["b", "a"]
