"""The dictionary's pages: who may read and change what, previews, files, and evil input."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.principals import principal_of
from accounts.services import replace_grants
from accounts.values import GrantRequest, Holder, Permission, SystemActor
from ingestion import services
from ingestion.dictionary import recutting
from ingestion.models import DictionaryStopWord, DictionarySynonym, DictionaryTerm
from kb_platform.models import AuditEntry

TERMS, SYNONYMS, STOP_WORDS = (f"/manage/dictionary/{kind}" for kind in ("terms", "synonyms", "stopwords"))


@pytest.fixture
def shared(ingest, collection, owner, administrator):
    """A document in the owner's collection, which the administrator may read, and one of the owner's alone."""
    other = services.create_collection(actor=principal_of(owner), name="Payroll secrets")
    ingest("a.md", "# 说明\n\n流程图谱系由总部维护。".encode())
    ingest("b.md", "# 机密\n\n流程图谱系的薪酬。".encode(), into=other)
    grants = [
        GrantRequest(holder=Holder.user(owner.pk), permission=Permission.MANAGE),
        GrantRequest(holder=Holder.user(administrator.pk), permission=Permission.VIEW),
    ]
    replace_grants(actor=SystemActor(name="tests"), scope=collection.scope, grants=grants, subject=collection)
    return collection


def test_who_manages_nothing_is_refused(browser, outsider):
    for path in (TERMS, SYNONYMS, STOP_WORDS, f"{TERMS}/import", f"{TERMS}/export"):
        assert browser(outsider).get(path).status_code == 403
    assert browser(outsider).post(TERMS, {"text": "流程图谱系", "save": "1"}).status_code == 403
    assert not DictionaryTerm.objects.exists()


def test_an_administrator_changes_what_holds_everywhere_and_a_manager_what_holds_in_a_collection(
    browser, shared, owner, administrator
):
    browser(administrator).post(TERMS, {"text": "流程图谱系", "save": "1"})
    browser(owner).post(TERMS, {"text": "总部维护", "save": "1", "place": str(shared.uid)})
    everywhere, own = (
        DictionaryTerm.objects.get(collection=None),
        DictionaryTerm.objects.get(collection=shared),
    )
    assert (everywhere.text, own.text) == ("流程图谱系", "总部维护")
    assert "总部维护" not in browser(administrator).get(TERMS).content.decode()
    assert "流程图谱系" not in browser(owner).get(TERMS).content.decode()
    assert browser(administrator).get(f"{TERMS}/{own.uid}/edit").status_code == 404
    assert browser(owner).post(f"{TERMS}/{everywhere.uid}/remove").status_code == 404
    assert browser(owner).post(TERMS, {"text": "机密", "save": "1", "place": "everywhere"}).status_code == 200
    assert DictionaryTerm.objects.count() == 2
    added = AuditEntry.objects.filter(action="dictionary.term_added")
    assert set(added.values_list("object_name", flat=True)) == {"流程图谱系", "总部维护"}


def test_the_preview_counts_and_names_only_what_the_person_may_read(browser, shared, administrator, owner):
    page = browser(administrator).post(TERMS, {"text": "流程图谱系", "preview": "1"}).content.decode()
    assert "Manuals" in page
    assert "Payroll secrets" not in page
    assert "薪酬" not in page
    assert '<span class="tok n" lang="zh-Hans">流程图谱系</span>' in page
    assert (
        "Payroll secrets"
        in browser(owner)
        .post(TERMS, {"text": "流程图谱系", "preview": "1", "place": str(shared.uid)})
        .content.decode()
        .split("<dl")[0]
    )  # a choice of places, not a count


def test_a_term_is_changed_and_removed(browser, shared, owner):
    client = browser(owner)
    client.post(TERMS, {"text": "流程图谱系", "save": "1", "place": str(shared.uid)})
    while recutting.step():
        pass
    term = DictionaryTerm.objects.get()
    assert term.in_force
    client.post(f"{TERMS}/{term.uid}/edit", {"text": "图谱系由", "save": "1"})
    assert {(row.text, row.wanted) for row in DictionaryTerm.objects.all()} == {
        ("流程图谱系", False),
        ("图谱系由", True),
    }
    while recutting.step():
        pass
    term = DictionaryTerm.objects.get()
    assert "1 passage" in client.get(f"{TERMS}/{term.uid}/remove").content.decode()
    client.post(f"{TERMS}/{term.uid}/remove")
    while recutting.step():
        pass
    assert not DictionaryTerm.objects.exists()


def test_synonyms_and_stop_words_are_previewed_and_saved(browser, shared, administrator):
    client = browser(administrator)
    group = {"phrases": "流程图谱系，process atlas", "direction": "one-way", "weight": "0.5"}
    page = client.post(SYNONYMS, {**group, "preview": "1"}).content.decode()
    assert '<span class="tok n" lang="en">process atlas</span>' in page
    client.post(SYNONYMS, {**group, "save": "1"})
    row = DictionarySynonym.objects.get()
    assert (row.one_way, row.weight, row.keys) == (True, 0.5, ["流程图谱系", "process atlas"])
    page = client.post(STOP_WORDS, {"text": "说明", "preview": "1", "sample": "总部说明"}).content.decode()
    assert '<span class="tok s" lang="zh-Hans">说明</span>' in page
    client.post(STOP_WORDS, {"text": "说明", "save": "1"})
    client.post(f"{SYNONYMS}/{row.uid}/remove")
    assert DictionaryStopWord.objects.get().key == "说明"
    assert not DictionarySynonym.objects.exists()


@pytest.mark.parametrize(
    ("path", "typed", "sentence"),
    [
        (TERMS, {"text": ""}, "Type a word"),
        (TERMS, {"text": "\x00"}, "Null characters"),
        (TERMS, {"text": "！？"}, "Type a word"),
        (TERMS, {"text": "x" * 10_000}, "At most 60 characters"),
        (TERMS, {"text": "号"}, "at least two characters"),
        (TERMS, {"text": "什么"}, "says nothing by itself"),
        (TERMS, {"text": "说明"}, "is a stop word"),
        (TERMS, {"text": "已有词"}, "already"),
        (TERMS, {"text": "ok", "place": "nowhere"}, "valid choice"),
        (STOP_WORDS, {"text": "已有詞"}, "one of your terms"),
        (STOP_WORDS, {"text": "甲方"}, "among the synonyms"),
        (STOP_WORDS, {"text": "the"}, "already"),
        (SYNONYMS, {"phrases": "甲方"}, "at least two phrases"),
        (SYNONYMS, {"phrases": "甲方, 甲 方"}, "twice"),
        (SYNONYMS, {"phrases": "乙方, 甲方"}, "already"),
        (SYNONYMS, {"phrases": "a1, b1", "weight": "9"}, "from 0.05 to 1"),
        (SYNONYMS, {"phrases": "a1, b1", "weight": "nan"}, "from 0.05 to 1"),
    ],
)
def test_what_cannot_be_saved_is_told_and_nothing_is_lost(
    browser, generation, administrator, path, typed, sentence
):
    DictionaryStopWord.objects.create(text="说明", key="说明")
    DictionaryTerm.objects.create(text="已有词", key="已有词")
    DictionarySynonym.objects.create(phrases=["甲方", "乙方"], keys=["甲方", "乙方"])
    response = browser(administrator).post(path, {**typed, "save": "1"})
    assert response.status_code == 200
    assert sentence in response.content.decode()


@pytest.mark.parametrize("text", ["a.*b(", "[经", "经\\", "$100 {x}", "C++ 规范", "'; drop table x; --"])
def test_signs_of_any_language_are_only_signs(browser, generation, administrator, text):
    client = browser(administrator)
    assert "Passages concerned" in client.post(TERMS, {"text": text, "preview": "1"}).content.decode()
    assert client.post(TERMS, {"text": text, "save": "1"}).status_code == 302
    assert client.get(TERMS, {"q": text, "page": "\x00"}).status_code == 200


def test_a_file_is_looked_at_before_it_is_imported_and_comes_out_again(browser, generation, administrator):
    client = browser(administrator)
    content = "\ufeff差旅 = 出差 = business trip\nP1 => 一级事故, 重大故障; 0.5\n只有一个\n"
    page = client.post(
        f"{SYNONYMS}/import", {"file": SimpleUploadedFile("s.txt", content.encode())}
    ).content.decode()
    assert "2 entries are new" in page
    assert "Line 3" in page
    assert not DictionarySynonym.objects.exists()
    client.post(f"{SYNONYMS}/import", {"content": content, "save": "1"})
    assert DictionarySynonym.objects.count() == 2
    exported = client.get(f"{SYNONYMS}/export").content.decode()
    DictionarySynonym.objects.all().delete()
    client.post(f"{SYNONYMS}/import", {"content": exported, "save": "1"})
    assert client.get(f"{SYNONYMS}/export").content.decode() == exported
    assert "P1 => 一级事故, 重大故障; 0.5" in client.get(f"{SYNONYMS}/export?as=text").content.decode()


def test_a_file_that_comes_out_runs_nothing_in_a_spreadsheet_and_is_read_back(
    browser, generation, administrator
):
    client = browser(administrator)
    formulas = ["=HYPERLINK(evil)", "+1 call", "@SUM(a)"]
    for text in formulas:
        client.post(TERMS, {"text": text, "save": "1"})
    client.post(SYNONYMS, {"phrases": "-2 cells, =cmd", "weight": "0.5", "save": "1", "direction": "both"})
    exported = client.get(f"{TERMS}/export").content.decode()
    assert exported.split("\n")[1:-1] == [f"'{text}" for text in formulas]
    assert client.get(f"{SYNONYMS}/export").content.decode().endswith("both,0.5,'-2 cells,'=cmd\n")
    DictionaryTerm.objects.all().delete()
    client.post(f"{TERMS}/import", {"content": exported, "save": "1"})
    assert client.get(f"{TERMS}/export").content.decode() == exported


def test_files_of_other_kinds_are_told_apart(browser, generation, administrator):
    client = browser(administrator)
    gbk = SimpleUploadedFile("t.csv", "term\n流程图谱系\n".encode("gb18030"))
    assert "1 entry is new" in client.post(f"{TERMS}/import", {"file": gbk}).content.decode()
    picture = SimpleUploadedFile("t.png", b"\x89PNG\xff\xfe\xff")
    assert "not a text file" in client.post(f"{TERMS}/import", {"file": picture}).content.decode()


def test_terms_come_by_thousands_and_back_again(browser, generation, administrator):
    DictionaryTerm.objects.create(text="词000", key="词000", wanted=False, in_force=True)
    content = "".join(f"词{number:03}\n" for number in range(300))
    browser(administrator).post(f"{TERMS}/import", {"content": content, "save": "1"})
    assert DictionaryTerm.objects.filter(wanted=True).count() == 300
    assert DictionaryTerm.objects.get(key="词000").in_force
