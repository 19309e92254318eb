from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.principals import principal_of
from ingestion.faq import importing
from ingestion.faq.importing import Action, Outcome
from ingestion.faq.selectors import phrasings_of
from ingestion.models import FaqImport, FaqPair, IngestJob
from kb_platform.errors import InvalidInput, NotAllowed, NotFound

CSV = """问题,答案,相似问法一,相似问法二,负责人邮箱
年假有几天？,5天。,年假多少天,,reader@example.com
发工资是哪天？,"25日，
遇节假日提前。",,,
"""


@pytest.fixture
def read(shared, owner):
    def read_text(text, encoding="utf-8", name="faq.csv"):
        return importing.read_file(
            actor=principal_of(owner), collection=shared, name=name, data=text.encode(encoding)
        )

    return read_text


def take(kept, owner):
    return importing.take_over(actor=principal_of(owner), kept=kept)


@pytest.mark.parametrize("encoding", ["gbk", "utf-8-sig", "utf-16"])
def test_a_file_of_any_encoding_becomes_pairs(read, owner, encoding):
    kept = read(CSV, encoding)
    assert not FaqPair.objects.exists()
    assert [(line.number, line.action) for line in importing.lines_of(kept)] == [(2, "add"), (3, "add")]
    assert take(kept, owner) == Outcome(added=2)
    leave, pay = FaqPair.objects.order_by("pk")
    assert (leave.question, leave.answer, phrasings_of(leave)) == ("年假有几天？", "5天。", ["年假多少天"])
    assert leave.document.owner.email == "reader@example.com"
    assert pay.answer == "25日，\n遇节假日提前。"
    assert pay.document.owner == owner
    assert not FaqImport.objects.exists()


def test_the_same_question_again_changes_its_pair_and_takes_no_wording_away(read, owner):
    take(read(CSV), owner)
    again = read(
        "question;answer\n请问年假有几天;7天。\n发工资是哪天;25日，遇节假日提前。\n年假多少天？;8天。"
    )
    lines = importing.lines_of(again)
    assert [line.action for line in lines] == [Action.CHANGE, Action.CHANGE, Action.CHANGE]
    assert take(again, owner).changed == 3
    leave = FaqPair.objects.order_by("pk")[0]
    assert (leave.question, leave.answer) == ("请问年假有几天", "8天。")
    assert phrasings_of(leave) == ["年假多少天？"]
    unchanged = read("question,answer\n请问年假有几天,8天。")
    assert [line.action for line in importing.lines_of(unchanged)] == [Action.SAME]
    assert take(unchanged, owner) == Outcome(same=1)


def test_each_bad_line_says_why_and_its_neighbours_are_taken(read, owner):
    kept = read(
        "Question,Answer,Owner,Wording\n"
        "Good?,Yes.,,Fine?\n"
        ",No question.,,\n"
        "No answer?,,,\n"
        "good,Twice.,,\n"
        "Who?,Me.,outsider@example.com,\n"
        "Fine?,A wording of another.,,\n"
    )
    lines = {line.number: (line.action, line.refusal) for line in importing.lines_of(kept)}
    assert lines[2] == (Action.ADD, "")
    assert [number for number, (action, _why) in lines.items() if action == Action.REFUSED] == [3, 4, 5, 6, 7]
    assert all(why for action, why in lines.values() if action == Action.REFUSED)
    assert "2" in lines[5][1]
    assert take(kept, owner) == Outcome(added=1, refused=5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n \n",
        "question,answer\n",
        "question,remark\na,b\n",
        "only one column\nof text\n",
        'question,answer\n"a,b\n',
    ],
)
def test_a_file_that_is_no_table_of_questions_is_refused(read, text):
    with pytest.raises(InvalidInput) as refused:
        read(text)
    assert set(refused.value.fields) == {"file"}


def test_a_file_too_large_is_refused(read, monkeypatch):
    monkeypatch.setattr(importing, "MAX_ROWS", 2)
    with pytest.raises(InvalidInput):
        read("question,answer\n" + "\n".join(f"q{n},a" for n in range(3)))
    monkeypatch.setattr(importing, "MAX_BYTES", 10)
    with pytest.raises(InvalidInput):
        read("question,answer\nq,a")


def test_a_file_is_its_readers_alone_and_forgotten_after_a_day(read, owner, reader, administrator):
    kept = read(CSV)
    with pytest.raises(NotAllowed):
        importing.read_file(actor=principal_of(reader), collection=kept.collection, name="x", data=b"a,b")
    for somebody in (reader, administrator):
        with pytest.raises(NotFound):
            importing.get_import(principal_of(somebody), str(kept.uid))
    FaqImport.objects.update(created_at=timezone.now() - timedelta(days=2))
    importing.forget_old()
    assert not FaqImport.objects.exists()


def test_many_rows_wait_behind_other_peoples_files(read, owner):
    take(read("question,answer\n" + "\n".join(f"How is {n}?,Well." for n in range(25))), owner)
    assert set(IngestJob.objects.values_list("priority", flat=True)) == {IngestJob.Priority.LATER}
