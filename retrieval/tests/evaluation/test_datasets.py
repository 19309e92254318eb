import json

import pytest

from kb_platform.errors import InvalidInput
from retrieval.evaluation.datasets import find_relevant, read_corpus, read_questions


def write(path, *lines):
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return path


def test_questions_are_read_whatever_form_their_answer_has(tmp_path):
    path = write(
        tmp_path / "q.jsonl",
        {"text": "年假?", "lang": "zh", "kind": "exact", "relevant": ["a"], "answer": "ten"},
        {"text": "leave?", "relevant": [], "answer": ["ten", "10"]},
        {"text": "none?", "relevant": None, "answer": None},
    )
    first, second, third = read_questions(path)
    assert (first.language, first.kind, first.relevant) == ("zh", "exact", ("a",))
    assert (second.language, second.kind, second.relevant, third.relevant) == ("unknown", "unknown", (), ())


def test_a_sample_is_always_the_same_and_keeps_what_has_no_answer(tmp_path):
    lines = [{"text": f"question {n}", "relevant": ["a"]} for n in range(20)] + [{"text": "none?"}]
    (tmp_path / "xquad").mkdir()
    path = write(tmp_path / "xquad" / "queries.jsonl", *lines)
    drawn = read_questions(path, sample=5)
    assert drawn == read_questions(path, sample=5)
    assert (len(drawn), drawn[-1].text, {one.dataset for one in drawn}) == (6, "none?", {"xquad"})
    asked_elsewhere = read_questions(path, sample=2, is_foreign=True)
    assert [(one.relevant, one.is_foreign) for one in asked_elsewhere] == [((), True)] * 2


def test_documents_of_json_lines_keep_their_id_and_empty_ones_are_left_out(tmp_path):
    path = write(
        tmp_path / "c.jsonl",
        {"doc_id": "a", "title": "Leave", "text": "Ten days of annual leave."},
        {"doc_id": "b", "text": "\u0001"},
    )
    (document,) = read_corpus(path)
    assert (document.key, document.title) == ("a", "Leave")
    assert document.parsed.elements[0].text == "Ten days of annual leave."


def test_documents_of_a_folder_are_named_by_their_path(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "leave.md").write_text("# Leave\n\nTen days of annual leave.\n")
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "broken.pdf").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    (document,) = read_corpus(tmp_path)
    assert document.key == str(tmp_path / "sub" / "leave.md")
    assert document.title == "Leave"


def test_relevance_is_by_id_or_by_the_end_of_a_path():
    keys = ["a1", "/data/kb/18f/leave.md", "/data/kb/18f/xleave.md"]
    assert find_relevant(["a1"], keys) == {"a1"}
    assert find_relevant(["18f/leave.md"], keys) == {"/data/kb/18f/leave.md"}
    assert find_relevant(["leave.md"], keys) == {"/data/kb/18f/leave.md"}
    assert find_relevant(["1"], keys) == frozenset()
    assert find_relevant([], keys) == frozenset()


@pytest.mark.parametrize("content", ["{", "[]", '{"lang": "en"}'])
def test_a_bad_line_is_named(tmp_path, content):
    path = tmp_path / "q.jsonl"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=r"q\.jsonl"):
        read_questions(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"none\.jsonl"):
        read_questions(tmp_path / "none.jsonl")
