"""Writing questions with their answers. A pair is a document made from its words; the ordinary path publishes it.

What was said before leaves the index in the transaction of the change: no search answers with old words while the new ones are
on their way. Whether a pair is valid is whether its document is archived; deleting is the trash of documents.
"""

import hashlib
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.permissions.visibility import require, visible_scopes
from accounts.principals import principal_of
from accounts.values import Permission, Principal
from ingestion import blobs, services
from ingestion.faq import vectors
from ingestion.faq.folding import fold
from ingestion.faq.rendering import render
from ingestion.faq.values import PairDraft
from ingestion.indexing import tables
from ingestion.models import (
    IN_FORCE,
    Chunk,
    Collection,
    Document,
    DocumentVersion,
    FaqPair,
    FaqQuestion,
    IndexGeneration,
    VersionState,
)
from ingestion.values import SourceFile, clean_name
from kb_platform.audit import record
from kb_platform.errors import Conflict, InvalidInput


@transaction.atomic
def add_pair(
    *, actor: Principal, collection: Collection, draft: PairDraft, priority: int | None = None
) -> FaqPair:
    """A new pair. Raises InvalidInput for an owner who cannot read it, Conflict for a question that is there already."""
    require(actor, Permission.CONTRIBUTE, collection.scope_id)
    _take_turns(collection)
    _refuse_taken(actor, collection, draft)
    owner = owner_of(draft, collection.scope_id)
    file = _file(draft)
    document = Document(
        collection=collection,
        scope_id=collection.scope_id,
        title=draft.question,
        owner_id=owner.pk if owner else actor.user_id,
        is_faq=True,
    )
    document.source_key = f"faq:{document.uid}"
    document.source_digest = hashlib.sha256(document.source_key.encode()).hexdigest()
    document.save()
    pair = FaqPair.objects.create(
        document=document, question=draft.question, answer=draft.answer, blob=file.blob.digest
    )
    services.add_version(document, file, actor, priority)
    _write_wordings(pair, draft)
    record(actor, "faq.added", document)
    return pair


@transaction.atomic
def change_pair(*, actor: Principal, pair: FaqPair, draft: PairDraft, priority: int | None = None) -> FaqPair:
    """Put other words in the place of a pair's. An owner that is not named stays."""
    _take_turns(pair.document.collection)
    document = services.locked(pair.document)
    require(actor, Permission.CONTRIBUTE, document.scope_id)
    pair = FaqPair.objects.select_for_update().get(pk=pair.pk)
    _refuse_taken(actor, document.collection, draft, but=pair)
    owner = owner_of(draft, document.scope_id)
    before = _said(pair, document)
    if owner and owner.pk != document.owner_id:
        document.owner = owner
        document.save(update_fields=["owner", "updated_at"])
    if (draft.question, draft.answer) != (pair.question, pair.answer):
        _say_anew(actor, document, pair, draft, priority)
    _write_wordings(pair, draft)
    after = _said(pair, document)
    if after != before:
        pair.changed_at = timezone.now()
        pair.save()
        record(actor, "faq.changed", document, parts=[name for name in after if after[name] != before[name]])
    return pair


def owner_of(draft: PairDraft, scope_id: int) -> User | None:
    """Whoever the draft names: somebody active who may read it. Raises InvalidInput naming `owner`."""
    if not draft.owner_email:
        return None
    owner = User.objects.filter(email=draft.owner_email, is_active=True).first()
    if owner is None or scope_id not in visible_scopes(principal_of(owner)):
        reason = _("Nobody with this e-mail address can see the collection. Share it with them first.")
        raise InvalidInput(reason, fields={"owner": reason})
    return owner


def pairs_asking(actor: Principal, collection: Collection, wordings: Sequence[str]) -> list[FaqPair]:
    """The pairs of a collection, as far as the actor sees them, that one of the wordings asks for already."""
    asked = FaqQuestion.objects.filter(
        folded__in=[fold(text) for text in wordings],
        pair__document__collection=collection,
        pair__document__scope_id__in=visible_scopes(actor),
    )
    return list(FaqPair.objects.filter(pk__in=asked.values("pair")).order_by("pk"))


def _take_turns(collection: Collection) -> None:
    """One writer of a collection's pairs at a time, so that no question is added twice."""
    Collection.objects.select_for_update(of=("self",), no_key=True).get(pk=collection.pk)


def _refuse_taken(
    actor: Principal, collection: Collection, draft: PairDraft, but: FaqPair | None = None
) -> None:
    for other in pairs_asking(actor, collection, draft.wordings):
        if but is None or other.pk != but.pk:
            reason = _("This is asked already, by “%(question)s”. Change that one instead.")
            sentence = reason % {"question": other.question}
            in_question = any(row.folded == fold(draft.question) for row in other.questions.all())
            place = "question" if in_question else "phrasings"
            raise Conflict(sentence, fields={place: sentence}, code="question_exists")


def _say_anew(
    actor: Principal, document: Document, pair: FaqPair, draft: PairDraft, priority: int | None
) -> None:
    file = _file(draft)
    _withdraw(document)
    document.title = draft.question
    services.add_version(document, file, actor, priority)
    pair.question, pair.answer, pair.blob = draft.question, draft.answer, file.blob.digest


def _withdraw(document: Document) -> None:
    """Take what a locked document said out of every index. Its versions keep their elements for old citations."""
    for generation in IndexGeneration.objects.exclude(state=IndexGeneration.State.RETIRED):
        tables.delete_rows(generation.number, document.pk)
    Chunk.objects.filter(document=document).delete()
    if document.active_version_id:
        said = DocumentVersion.objects.filter(pk=document.active_version_id, state__in=IN_FORCE)
        said.update(state=VersionState.SUPERSEDED)
    document.active_version = None


def _file(draft: PairDraft) -> SourceFile:
    blob = blobs.store([render(draft.question, draft.answer).encode()])
    return SourceFile(name=clean_name(f"{draft.question[:80]}.md"), blob=blob)


def _write_wordings(pair: FaqPair, draft: PairDraft) -> None:
    """The wordings as they are now; those that stay keep their vectors."""
    known = {row.text: row for row in pair.questions.all()}
    rows = [
        FaqQuestion(
            pair=pair,
            order=order,
            text=text,
            folded=fold(text),
            embedder=known[text].embedder if text in known else "",
            embedding=known[text].embedding if text in known else None,
        )
        for order, text in enumerate(draft.wordings)
    ]
    if [row.text for row in known.values()] != list(draft.wordings):
        pair.questions.all().delete()
        vectors.tell_changed(FaqQuestion.objects.bulk_create(rows))
        vectors.ring()


def _said(pair: FaqPair, document: Document) -> dict[str, object]:
    """What can be told apart in the log."""
    wordings = list(pair.questions.order_by("order").values_list("text", flat=True))
    return {
        "question": pair.question,
        "answer": pair.answer,
        "phrasings": wordings[1:],
        "owner": document.owner_id,
    }
