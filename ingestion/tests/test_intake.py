"""Whoever has enough files waiting is asked to come again; others are not affected."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import User
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services
from ingestion.models import IngestJob, UploadedFile


@pytest.fixture
def most(settings):
    settings.RUNTIME_OVERRIDES = {"processing.most_waiting": "10"}


def _file(n: int) -> SimpleUploadedFile:
    return SimpleUploadedFile(f"{n}.md", f"# {n}".encode())


def test_the_file_too_many_is_put_off_with_a_time_and_taken_later(
    most, api, browser, owner: User, reader: User, collection
):
    contribute = GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE)
    manage = GrantRequest(holder=Holder.user(owner.pk), permission=Permission.MANAGE)
    services.share_collection(actor=principal_of(owner), collection=collection, grants=[contribute, manage])
    form = {"collection": str(collection.uid)}
    statuses = [
        api(owner).post("/api/v1/documents", {**form, "file": _file(n)}, format="multipart").status_code
        for n in range(11)
    ]
    assert statuses == [201] * 10 + [429]

    page = browser(owner)
    batch = page.post("/manage/documents/upload", form, headers={"accept": "application/json"}).json()
    put_off = page.post(batch["files"], {"file": _file(11)})
    assert (put_off.status_code, put_off["Retry-After"]) == (429, "15")
    assert "10 of your files" in put_off.json()["text"]
    assert not UploadedFile.objects.exists()  # not refused: it comes again
    other = api(reader).post("/api/v1/documents", {**form, "file": _file(12)}, format="multipart")
    assert other.status_code == 201

    IngestJob.objects.filter(person=owner.pk).first().delete()
    assert page.post(batch["files"], {"file": _file(11)}).status_code == 201


def test_a_plain_form_keeps_what_fitted_and_tells_what_did_not(most, browser, owner: User, collection):
    form = {"collection": str(collection.uid), "files": [_file(n) for n in range(12)]}
    page = browser(owner).post("/manage/documents/upload", form, follow=True)
    assert IngestJob.objects.count() == 10
    assert "2 files were not taken." in page.content.decode()
