"""Cells of CSV files that people open with a spreadsheet, which would take some texts for formulas and run them."""

FORMULA = frozenset(
    "=+-@\t\r\n＝＋－＠"
)  # how a formula may begin; the wide ones in Chinese and Japanese editions


def as_text(cell: str) -> str:
    """The cell with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{cell}" if _begins_formula(cell) else cell


def from_text(cell: str) -> str:
    """What `as_text` was given."""
    return cell[1:] if cell.startswith("'") and _begins_formula(cell[1:]) else cell


def _begins_formula(cell: str) -> bool:
    return cell.lstrip(" ")[:1] in FORMULA
