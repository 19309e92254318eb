"""Whoever reads whatever page or answer of the API meets nothing of what is hidden from them: one word gives it away.

Pages of what people administer are left out: administrators see names of collections and objects there, by design.
"""

from types import SimpleNamespace

import pytest
from rest_framework.test import APIClient

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.services import create_user, deactivate_user
from accounts.tokens import create_token
from accounts.values import GrantRequest, Holder, Permission, SystemActor, TokenScope
from ingestion import bulk, fields, services, uploads
from ingestion.models import Document, SavedView, UploadedFile, VersionState
from ingestion.selectors import documents_for
from ingestion.testing.rows import make_document
from kb_platform.policies import Access, routes
from kb_platform.tests.test_policies import resource_of, url
from retrieval.models import Citation, Conversation, Message

pytestmark = pytest.mark.django_db
WORD = "zebrafalcon"
QUERIES = ("", f"?q={WORD[:6]}&all=1&sort=attention")


def _marked(collection, title, **fields):
    made = make_document(collection, title=f"{WORD} {title}", texts=[f"The {WORD} is sold."], **fields)
    Document.objects.filter(pk=made.pk).update(
        tags=[WORD],
        doc_type=WORD,
        department=WORD,
        security_level=WORD,
        metadata={WORD: 1, "region": WORD},
    )
    return Document.objects.get(pk=made.pk)


@pytest.fixture
def hidden(db, embedder):  # the page of a collection's chunking counts tokens
    """A collection that can be shared, with one open document; all else carries the word."""
    keeper = create_user(actor=SystemActor(name="tests"), email="k@x.org", name="Keeper")
    visitor = create_user(actor=SystemActor(name="tests"), email="v@x.org", name="Visitor")
    gone = create_user(actor=SystemActor(name="tests"), email="g@x.org", name=f"Left {WORD}")
    deactivate_user(actor=SystemActor(name="tests"), user=gone)
    who = principal_of(keeper)
    secret = services.create_collection(actor=who, name=f"Deal {WORD}", description=WORD)
    fields.define_field(actor=who, collection=secret, label=WORD, kind="choice", choices=[WORD])
    cited = _marked(secret, "plan", file_name=f"{WORD}.md")
    _marked(secret, "failed", state=VersionState.REJECTED)
    shared = services.create_collection(actor=SystemActor(name="tests"), name="Handbook")
    replace_grants(
        actor=SystemActor(name="tests"),
        scope=shared.scope,
        grants=[GrantRequest(holder=Holder.user(keeper.pk), permission=Permission.MANAGE)],
    )
    fields.define_field(actor=who, collection=shared, label="Region", kind="choice", choices=["EU"])
    document = make_document(shared)
    for title in ("pay", "trash"):
        kept = _marked(shared, title)
        services.share_document(actor=who, document=kept, grants=[])
    bulk.delete_documents(actor=who, documents=documents_for(who).filter(title=f"{WORD} trash"))
    bulk.archive_documents(actor=who, documents=documents_for(who).filter(title=f"{WORD} plan"))
    batch = uploads.open_batch(actor=who, collection=shared, grants=[])
    UploadedFile.objects.create(batch=batch, name=f"{WORD}.xlsx", outcome=UploadedFile.Outcome.REFUSED)
    SavedView.objects.create(user=keeper, name=WORD, query="")
    said = Conversation.objects.create(user=keeper, title=WORD)
    message = Message.objects.create(conversation=said, question=f"{WORD}?", answer=WORD, grounded=True)
    Citation.objects.create(
        message=message, n=1, document=cited, version=cited.active_version, first_element=0, last_element=1,
        quote=WORD,
    )  # fmt: skip
    return SimpleNamespace(shared=shared, document=document, keeper=keeper, visitor=visitor)


def _paths(hidden):
    things = {
        "collections": hidden.shared.uid,
        "library": hidden.shared.uid,
        "documents": hidden.document.uid,
        "d": hidden.document.uid,
        "jobs": hidden.document.latest_version.job.uid,
    }
    for route in routes():
        if route.policy is None or route.policy.access not in (Access.SIGNED_IN, Access.OBJECT):
            continue
        if route.name in ("schema", "api_docs"):
            continue  # takes long, is the same for everybody, and is looked at where it is tested
        if not route.parameters:
            queries = QUERIES[:1] if route.name == "search" else QUERIES  # a question needs an index
            yield from (url(route) + query for query in queries)
        elif thing := things.get(resource_of(route)):
            yield url(route, str(thing))


def _told(client, paths):
    """The addresses whose answer holds the word."""
    told = []
    for path in paths:
        answer = client.get(path)
        assert answer.status_code < 500, path
        if WORD.encode() in (b"".join(answer) if answer.streaming else answer.content):
            told.append(path)
    return told


@pytest.mark.parametrize("level", [None, Permission.VIEW, Permission.MANAGE])
def test_pages_and_api_tell_nothing_of_what_is_hidden(browser, api, hidden, level):
    if level:
        grants = [GrantRequest(holder=Holder.user(hidden.visitor.pk), permission=level)]
        kept = GrantRequest(holder=Holder.user(hidden.keeper.pk), permission=Permission.MANAGE)
        replace_grants(actor=SystemActor(name="tests"), scope=hidden.shared.scope, grants=[*grants, kept])
    assert _told(browser(hidden.keeper), ["/manage/documents"])
    paths = list(_paths(hidden))
    assert _told(browser(hidden.visitor), [p for p in paths if not p.startswith("/api/")]) == []
    assert _told(api(hidden.visitor), [p for p in paths if p.startswith("/api/")]) == []


def test_a_token_limited_to_a_collection_tells_nothing_of_the_rest(hidden):
    limits = {"scopes": [TokenScope.SEARCH, TokenScope.ASK, TokenScope.INGEST]}
    _row, text = create_token(
        actor=SystemActor(name="tests"),
        user=hidden.keeper,
        name="robot",
        collections=[hidden.shared.scope_id],
        **limits,
    )
    robot = APIClient(headers={"Authorization": f"Bearer {text}"})
    paths = [path for path in _paths(hidden) if path.startswith("/api/")]
    assert _told(robot, paths) == []
