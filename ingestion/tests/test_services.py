"""Changes made to a document that somebody else has changed since it was read."""

import pytest

from accounts.principals import principal_of
from ingestion import selectors, services
from ingestion.models import Document
from ingestion.values import Attributes
from kb_platform.errors import NotFound


@pytest.fixture
def stale(upload, owner):
    """The document as it was before its owner gave it a list of its own."""
    document = upload("pay.md", b"# Pay\n\nGrades.\n").document
    seen = selectors.get_document(principal_of(owner), str(document.uid))
    services.share_document(actor=principal_of(owner), document=document, grants=[])
    return seen


def test_an_edit_does_not_give_the_old_sharing_back(stale, owner):
    before = Document.objects.get(pk=stale.pk).scope_id
    services.update_document(actor=principal_of(owner), document=stale, attributes=Attributes(tags=("new",)))
    after = Document.objects.get(pk=stale.pk)
    assert (after.scope_id, after.tags) == (before, ["new"])


def test_a_move_keeps_a_list_that_was_given_meanwhile(stale, owner):
    before = Document.objects.get(pk=stale.pk).scope_id
    other = services.create_collection(actor=principal_of(owner), name="Archive")
    services.move_document(actor=principal_of(owner), document=stale, collection=other)
    after = Document.objects.get(pk=stale.pk)
    assert (after.scope_id, after.collection_id) == (before, other.pk)


def test_what_was_deleted_meanwhile_is_not_found(stale, owner):
    services.delete_document(actor=principal_of(owner), document=stale)
    with pytest.raises(NotFound):
        services.update_document(actor=principal_of(owner), document=stale, attributes=Attributes(tags=()))
