"""Questions about tables against known answers: which share is answered, and how many of those answers are right.

    python -m benchmarks.tables FOLDER [--wrong N] [--refused N]

FOLDER holds corpus.jsonl ({doc_id, title, text: rows of `| a | b |`}) and queries.jsonl ({text, relevant: [doc_id],
answer: [text]}). Each question is put to its own table, as if search had found it. An answer counts as right if it names
exactly the values expected, as numbers where both are numbers.
"""

import argparse
import json
import os
import random
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.test")

import django

django.setup()

from retrieval.tables.cells import clean, read_day, read_number
from retrieval.tables.plan import TableQuery
from retrieval.tables.reader import read_question
from retrieval.tables.run import run_query
from retrieval.tables.shown import value_text
from retrieval.tables.typed import RawTable, SourceRow, TypedTable, typed_table
from retrieval.tables.words import keys_of


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--wrong", type=int, default=0, help="show so many wrong answers")
    options.add_argument("--refused", type=int, default=0, help="show so many questions without an answer")
    options.add_argument("--right", type=int, default=0)
    chosen = options.parse_args()
    tables = {row["doc_id"]: _table(row) for row in _lines(chosen.folder / "corpus.jsonl")}
    questions = _lines(chosen.folder / "queries.jsonl")
    right, wrong, refused, seconds = [], [], [], []
    for question in questions:
        table = tables.get(question["relevant"][0])
        started = time.perf_counter()
        query = read_question(question["text"], table) if table else None
        seconds.append(time.perf_counter() - started)
        if table is None or query is None:
            refused.append(question)
            continue
        said = answered(query, table)
        (right if _agrees(said, question["answer"]) else wrong).append((question, said, query))
    answered_count = len(right) + len(wrong)
    print(f"questions   {len(questions)}")
    print(f"answered    {answered_count} ({answered_count / len(questions):.1%})")
    print(f"right       {len(right)} ({len(right) / max(answered_count, 1):.1%} of those answered)")
    print(
        f"reading     {1000 * sum(seconds) / len(seconds):.1f} ms on average, {1000 * max(seconds):.1f} at most"
    )
    for name, kept, most in (("right", right, chosen.right), ("wrong", wrong, chosen.wrong)):
        for question, said, query in kept[:most]:
            print(
                f"\n[{name}] {question['text']}\n  expected {question['answer']}, said {said}\n  {question['relevant'][0]} {query}"
            )
    for question in random.Random(0).sample(refused, min(chosen.refused, len(refused))):
        print(f"\n[refused] {question['text']}  ({question['relevant'][0]})")


def answered(query: TableQuery, table: TypedTable) -> list[str]:
    """What the query finds, as texts: the cells of its first column, or the numbers computed."""
    outcome = run_query(query, table)
    if query.select:
        return list(dict.fromkeys(table.rows[number].texts[query.select[0]] for number in outcome.rows))
    if query.group_by is not None:
        return [line.key or "" for line in outcome.lines]
    column = table.columns[query.measure.column] if query.measure.column is not None else None
    is_count = column is None or query.measure.aggregate.value in ("count", "distinct")
    return [f"{line.value:f}" if is_count else value_text(column, line.value) for line in outcome.lines]


def _table(row: dict) -> TypedTable | None:
    lines = [[cell.strip() for cell in line[2:-2].split(" | ")] for line in row["text"].split("\n")]
    header, *rows = lines
    return typed_table(
        RawTable(
            header=(tuple(header),),
            rows=tuple(SourceRow(element=0, line=n, cells=tuple(cells)) for n, cells in enumerate(rows)),
            title=row["title"],
        )
    )


def _agrees(said: list[str], expected: list[str]) -> bool:
    return len(said) == len(expected) and {_form(text) for text in said} == {_form(text) for text in expected}


def _form(text: str) -> object:
    number, day = read_number(text), read_day(text)
    if number is not None:
        return number.value
    return day.first if day else (keys_of(clean(text)) or text)


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


if __name__ == "__main__":
    main()
