"""Tables of every format: which rows are their head."""

import pytest

from ingestion.parsing.headings import list_mark
from ingestion.parsing.tables import Cell, read_table


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ([["", "Precision", "", "Recall", ""], ["System", "dev", "test", "dev", "test"]], 2),
        ([["", "2023", "2022"]], 1),
        ([["Votes for", "", ""], ["1 Year", "2 Years", ""]], 2),
        ([], 0),
    ],
)
def test_rows_of_names_above_rows_of_figures_are_the_head(head: list[list[str]], rows: int) -> None:
    body = [["Baseline", "81.2", "80.1", "70.2", "69.9"], ["Ours", "90.3", "89.8", "84.1", "83.0"]]
    width = len(head[0]) if head else 5
    element = read_table([[Cell(text=text) for text in row[:width]] for row in [*head, *body]])
    assert element
    assert element.table
    assert element.table.header_rows == rows


def test_several_boxes_on_a_line_are_a_choice_and_one_is_a_bullet() -> None:
    assert list_mark("■ 是 □ 否") is None
    assert list_mark("□ 复印身份证") is not None


def test_a_form_has_names_beside_their_values_and_no_head() -> None:
    def head(*rows: str) -> int:
        element = read_table([[Cell(text=text) for text in row.split("|")] for row in rows])
        assert element
        assert element.table
        return element.table.header_rows

    assert head("姓名|张三|性别|男", "部门|研发中心|职务|工程师") == 0
    assert head("姓名|张三", "家庭住址|北京市海淀区", "备注|无") == 0
    assert head("姓名|城市|备注", "王小明|北京|无") == 1
    assert head("姓名|部门", "张三|技术部", "李四|市场部") == 1
