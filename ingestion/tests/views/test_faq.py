import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services
from ingestion.faq.services import add_pair
from ingestion.faq.values import PairDraft
from ingestion.models import FaqImport, FaqPair


@pytest.fixture
def shared(collection, owner, reader):
    grant = GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)
    services.share_collection(actor=principal_of(owner), collection=collection, grants=[grant])
    return collection


@pytest.fixture
def pair(shared, owner):
    draft = PairDraft(question="When is payday?", answer="On the 25th.", phrasings=("工资什么时候发？",))
    return add_pair(actor=principal_of(owner), collection=shared, draft=draft)


def page(client, collection, query=""):
    return client.get(reverse("faq", args=[collection.uid]) + query)


def test_a_question_is_added_changed_and_found_in_the_list(shared, owner, browser):
    client = browser(owner)
    assert "No questions yet" in page(client, shared).content.decode()
    form = {"question": "When is payday?", "answer": "On the 25th.", "phrasings": "Payday?\nSalary day?"}
    client.post(reverse("faq_new", args=[shared.uid]), form)
    made = FaqPair.objects.get()
    text = page(client, shared, "?q=salary").content.decode()
    assert "When is payday?" in text
    assert "2 other wordings" in text
    edit = reverse("faq_edit", args=[shared.uid, made.uid])
    assert "Salary day?" in client.get(edit).content.decode()
    client.post(edit, {**form, "answer": "On the 1st."})
    assert FaqPair.objects.get().answer == "On the 1st."
    assert "No question matches" in page(client, shared, "?q=25th").content.decode()


def test_what_was_typed_stays_when_it_is_refused(pair, shared, owner, browser):
    form = {"question": "when is payday", "answer": "Some other answer.", "owner": "nobody@example.com"}
    text = browser(owner).post(reverse("faq_new", args=[shared.uid]), form).content.decode()
    assert "Some other answer." in text
    assert "asked already" in text


def test_a_reader_reads_and_gets_no_buttons(pair, shared, reader, browser):
    text = page(browser(reader), shared).content.decode()
    assert "On the 25th." in text
    assert reverse("faq_new", args=[shared.uid]) not in text
    assert 'name="action"' not in text
    assert browser(reader).get(reverse("faq_edit", args=[shared.uid, pair.uid])).status_code == 403


def test_many_are_made_invalid_and_deleted_with_a_way_back(pair, shared, owner, browser):
    client = browser(owner)
    url = reverse("faq_bulk", args=[shared.uid])
    text = client.post(url, {"action": "archive", "ids": [pair.document.uid]}, follow=True).content.decode()
    assert "no longer valid" in text
    assert "Not valid" in text
    client.post(url, {"action": "restore", "all": "1", "state": "invalid"})
    pair.document.refresh_from_db()
    assert pair.document.archived_at is None
    text = client.post(url, {"action": "delete", "all": "1"}, follow=True).content.decode()
    assert "trash" in text
    assert "No questions yet" in text
    assert client.post(url, {"action": "explode"}).status_code == 400


def test_a_file_is_looked_at_before_anything_is_written(shared, owner, reader, browser):
    client = browser(owner)
    url = reverse("faq_import", args=[shared.uid])
    file = SimpleUploadedFile("问答.csv", "问题,答案\n年假有几天？,5天。\n,没有问题\n".encode("gbk"))
    answer = client.post(url, {"file": file})
    kept = FaqImport.objects.get()
    check = reverse("faq_import_check", args=[shared.uid, kept.uid])
    assert answer.url == check
    text = client.get(check).content.decode()
    assert "gb18030" in text
    assert "年假有几天？" in text
    assert "Write the question." in text
    assert not FaqPair.objects.exists()
    assert browser(reader).get(check).status_code == 403
    client.post(check)
    assert FaqPair.objects.get().answer == "5天。"
    assert client.get(check).status_code == 404


def test_a_file_that_is_none_is_refused_on_the_page(shared, owner, browser):
    file = SimpleUploadedFile("x.csv", b"nothing here\n")
    url = reverse("faq_import", args=[shared.uid])
    assert "two columns" in browser(owner).post(url, {"file": file}).content.decode()
    assert browser(owner).post(url, {}).status_code == 200


def test_nobody_else_sees_it(pair, shared, outsider, administrator, browser):
    for somebody in (outsider, administrator):
        assert page(browser(somebody), shared).status_code == 404
