"""The file that is made of a pair: Markdown whose heading is the question and whose text is the answer, word for word.

Answers are plain text: signs that Markdown would take for its own are escaped, line ends are kept, and lines that begin with
a number or a dash become lists.
"""

import re

_SIGNS = re.compile(r"([\\`*_\[\]<>&#~|])")
_ITEM = re.compile(r"^(\s*)([-*•·]|\d{1,9}[.)])(\s+)(?=\S)")


def render(question: str, answer: str) -> str:
    """The whole file."""
    return f"# {_escaped(question)}\n\n{_body(answer)}\n"


def _body(answer: str) -> str:
    lines: list[str] = []
    was_item = False
    for line in answer.split("\n"):
        item = _ITEM.match(line)
        if lines and lines[-1] and bool(item) != was_item and line.strip():
            lines.append("")  # a list and a paragraph are kept apart, however closely they were typed
        lines.append(_line(line, item))
        was_item = bool(item)
    return "\n".join(_with_break(line, after) for line, after in zip(lines, [*lines[1:], ""], strict=True))


def _line(line: str, item: re.Match[str] | None) -> str:
    if item is None:
        text = _escaped(line.strip())
        text = re.sub(r"^(\d{1,9})([.)])", r"\1\\\2", text)
        return re.sub(r"^([-+=])", r"\\\1", text)
    mark = item[2] if item[2][0].isdigit() else "-"
    return f"{mark} {_escaped(line[item.end() :].strip())}"


def _with_break(line: str, after: str) -> str:
    """A line end inside a paragraph is meant."""
    return f"{line}\\" if line and after and not _ITEM.match(after) else line


def _escaped(text: str) -> str:
    return _SIGNS.sub(r"\\\1", text)
