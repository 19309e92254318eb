"""What lies in the trash is out of sight everywhere at once, also before the indexes have followed."""

import pytest

from accounts.models import User
from accounts.values import Permission
from ingestion import bulk
from ingestion.indexing import moves
from ingestion.selectors import collections_for, documents_for
from retrieval.chat.service import answer, get_message, visible_message
from retrieval.pipeline import search
from retrieval.values import SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "What is the nightly hotel cap in Lisbon?"


def test_it_is_gone_for_readers_and_keepers_alike_and_comes_back_whole(library, person, reader, client):
    keeper = person("keeper")
    shelf = library.collection("Handbook", reader)
    library.share(shelf.scope, keeper, Permission.MANAGE)
    document = library.document(shelf, "Travel", "The nightly hotel cap in Lisbon is 145 euros.")
    message = answer(QUESTION, principal=reader)
    assert message.citations

    listed = ("/library", f"/library/{shelf.uid}", "/manage/documents")
    opened = (
        f"/d/{document.uid}",
        f"/api/v1/documents/{document.uid}/chunks",
        f"/manage/documents/{document.uid}",
    )

    def seen(principal):
        """Each place where the document shows, and whether it does."""
        client.force_login(User.objects.get(pk=principal.user_id))
        pages = {path: client.get(path) for path in listed}
        return {
            "search": bool(search(SearchRequest(text=QUESTION), principal=principal).passages),
            "answer": bool(answer(QUESTION, principal=principal).citations),
            "list": documents_for(principal).exists(),
            "count": bool(collections_for(principal).get().document_count),
            **{path: "Travel" in page.content.decode() for path, page in pages.items()},
            **{path: client.get(path).status_code == 200 for path in opened},
        }

    assert all(seen(reader).values())
    deleted = bulk.delete_documents(actor=keeper, documents=documents_for(keeper))
    for _index in ("as it was", "followed"):
        for who in (reader, keeper):
            assert not any(seen(who).values()), seen(who)
        assert visible_message(reader, get_message(reader, message.uid)).withdrawn
        moves.follow_all(seconds=5)
    bulk.undo(actor=keeper, change=deleted.change)
    assert documents_for(reader).exists()
    assert not visible_message(reader, get_message(reader, message.uid)).withdrawn
