"""Ask a question: search, judge the evidence, answer or refuse, check access once more, store.

The refusal has the same words whether nothing exists or nothing is open to the reader, and no passage goes with it.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Q
from django.utils import translation
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.embedding.cache import cached_sentences, text_hash
from ingestion.embedding.protocol import Embedder
from ingestion.embedding.registry import get_embedder
from ingestion.models import Document, Element
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.json_values import is_storable
from retrieval.chat.history import rounds_of
from retrieval.chat.selectors import confines_of, get_conversation, get_message, visible_message
from retrieval.chat.values import ShownMessage
from retrieval.direct_shown import further_url
from retrieval.filters import Filters
from retrieval.generation.extractive import ExtractedAnswer, Question, Quotation, extract_answer
from retrieval.generation.nearness import nearness_of
from retrieval.generation.statements import SourceElement, Statement, statements_of
from retrieval.models import Citation, Conversation, Feedback, Message
from retrieval.pipeline import CONDITIONS_DROPPED, search
from retrieval.sources.selectors import open_source_uids, rows_of
from retrieval.values import DirectAnswer, EvidenceLevel, Passage, SearchRequest, SearchResult, clean_question

log = logging.getLogger(__name__)
PASSAGES = 8
TITLE_CHARACTERS = 80
MAX_COMMENT = 2_000


def answer(
    question: str,
    *,
    principal: Principal,
    conversation: str | None = None,
    filters: Filters | None = None,
    without: Collection[str] = (),
) -> ShownMessage:
    """Answer in a new conversation, or in one's own with the uid `conversation`, and store both sides.

    without: keys of conditions in the question that are taken back. Raises InvalidInput for a question that cannot be
    used, NotFound for a conversation that is not one's own.
    """
    request, current = _checked(question, principal, conversation, filters or Filters(), without)
    found = search(request, principal=principal)
    found, extracted = _answered(request, found, principal=principal)
    with transaction.atomic():
        message = _open_message(request, principal=principal, conversation=current)
        _complete(message, found, extracted, principal=principal)
    return visible_message(principal, get_message(principal, str(message.uid)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A stored question whose answer is still to come."""

    message_uid: str
    conversation_uid: str
    request: SearchRequest
    principal: Principal


@transaction.atomic
def ask(
    question: str,
    *,
    principal: Principal,
    conversation: str | None = None,
    filters: Filters | None = None,
    without: Collection[str] = (),
) -> Asked:
    """Store a question that `find` and `finish` answer. Raises as `answer` does."""
    request, current = _checked(question, principal, conversation, filters or Filters(), without)
    message = _open_message(request, principal=principal, conversation=current)
    return Asked(
        message_uid=str(message.uid),
        conversation_uid=str(message.conversation.uid),
        request=request,
        principal=principal,
    )


def find(asked: Asked) -> SearchResult:
    return search(asked.request, principal=asked.principal)


def finish(asked: Asked, found: SearchResult) -> ShownMessage:
    """Answer from what was found, and store it. Raises Conflict if the answer was stopped or deleted meanwhile."""
    found, extracted = _answered(asked.request, found, principal=asked.principal)
    with transaction.atomic():
        waiting = Message.objects.filter(uid=asked.message_uid, state=Message.State.ANSWERING)
        message = waiting.select_for_update().first()
        if message is None:
            raise Conflict(_("This answer was stopped."), code="stopped")
        _complete(message, found, extracted, principal=asked.principal)
    return visible_message(asked.principal, get_message(asked.principal, asked.message_uid))


def give_up(asked: Asked, *, is_stopped: bool) -> None:
    """Mark an answer that will not come. One that is complete stays so."""
    state = Message.State.STOPPED if is_stopped else Message.State.FAILED
    Message.objects.filter(uid=asked.message_uid, state=Message.State.ANSWERING).update(state=state)


def _checked(
    question: str, principal: Principal, uid: str | None, filters: Filters, without: Collection[str]
) -> tuple[SearchRequest, Conversation | None]:
    text = clean_question(question, field_name="question")
    current = get_conversation(principal, uid) if uid else None
    history = rounds_of(principal, current) if current else ()
    request = SearchRequest(
        text=text, filters=filters, top_k=PASSAGES, history=history, without=frozenset(without)
    )
    return request, current


def give_feedback(
    message: Message, *, principal: Principal, vote: str, reason: str = "", comment: str = ""
) -> Feedback:
    """Record or change one's vote on an answer of one's own conversation."""
    if vote not in Feedback.Vote.values:
        raise InvalidInput(fields={"vote": _("Say up or down.")})
    feedback, _created = Feedback.objects.update_or_create(
        message=message,
        user_id=principal.user_id,
        defaults={"vote": vote, "reason": reason[:50], "comment": comment[:MAX_COMMENT]},
    )
    return feedback


def rename_conversation(conversation: Conversation, *, principal: Principal, title: str) -> None:
    """Give one's own conversation another title. Raises InvalidInput for an empty one, NotFound for all others' own."""
    found = get_conversation(principal, str(conversation.uid))
    cleaned = " ".join(title.replace("\x00", "").split())
    if not cleaned or not is_storable(cleaned):
        raise InvalidInput(fields={"title": _("Give the conversation a name.")})
    shortened = shorten(cleaned, TITLE_CHARACTERS)
    Conversation.objects.filter(pk=found.pk).update(title=shortened)  # its place in the list stays


def delete_conversation(conversation: Conversation, *, principal: Principal) -> None:
    """Remove one's own conversation with its messages. Raises NotFound for all others."""
    get_conversation(principal, str(conversation.uid)).delete()


def _answered(
    request: SearchRequest, found: SearchResult, *, principal: Principal
) -> tuple[SearchResult, ExtractedAnswer | None]:
    """The answer and what it is from: if the conditions of the question leave none, all there is, with a note."""
    extracted = _extract(found.asked(request.text), found)
    conditions = found.understanding.conditions if found.understanding else ()
    if extracted or not conditions:
        return found, extracted
    keys = frozenset(condition.key for condition in conditions)
    wider = search(replace(request, without=request.without | keys), principal=principal)
    extracted = _extract(wider.asked(request.text), wider)
    if extracted is None:
        return found, None
    return replace(wider, notes=(*wider.notes, CONDITIONS_DROPPED)), extracted


def _extract(text: str, found: SearchResult) -> ExtractedAnswer | None:
    if found.direct is not None:
        return _known(found.direct)
    if found.evidence.level is EvidenceLevel.NONE:
        return None
    statements = _statements(found.passages)
    question, asked = Question(text=text, idf=found.idf, expansions=found.expansions), found.query_vector
    if asked is None:
        return extract_answer(question, found.passages, statements)
    embedder = get_embedder()
    question = replace(question, nearness=_nearness(found, asked, statements, embedder))
    closely = replace(question, read_closely=lambda texts: (embedder.embed_documents(texts) @ asked).tolist())
    try:
        return extract_answer(closely, found.passages, statements)
    except Exception as error:  # a model may fail in any way; what is known of the sentences still chooses
        log.warning("the embedder failed", extra={"cause": repr(error)})
        return extract_answer(question, found.passages, statements)


def _known(direct: DirectAnswer) -> ExtractedAnswer:
    """An answer that needs no composing, its passages as its sources."""
    quotations = tuple(
        Quotation(
            n=n,
            passage=passage,
            quote=passage.text,
            page=passage.page,
            first_element=passage.first_element,
            last_element=passage.last_element,
        )
        for n, passage in enumerate(direct.passages, start=1)
    )
    return ExtractedAnswer(text=direct.text, quotations=quotations)


def _nearness(
    found: SearchResult, asked: NDArray[np.float32], statements: Sequence[Statement], embedder: Embedder
) -> list[float]:
    hashes = [text_hash(passage.embedding_text) for passage in found.passages]
    known = cached_sentences(embedder, hashes)
    sentences = {index: known[key] for index, key in enumerate(hashes) if key in known}
    return nearness_of(statements, found.passages, asked, sentences)


def _statements(passages: Sequence[Passage]) -> list[Statement]:
    if not passages:
        return []
    spans = Q()
    for passage in passages:
        spans |= Q(version_id=passage.version_id, order__range=(passage.first_element, passage.last_element))
    elements: dict[int, list[SourceElement]] = {}
    rows = Element.objects.filter(spans).order_by("version_id", "order")
    for version, order, kind, text, page, table in rows.values_list(
        "version_id", "order", "kind", "text", "page", "table"
    ):
        element = SourceElement(order=order, kind=kind, text=text, page=page, table=table)
        elements.setdefault(version, []).append(element)
    return [
        statement
        for index, passage in enumerate(passages)
        for statement in statements_of(index, passage, _within(passage, elements.get(passage.version_id, [])))
    ]


def _within(passage: Passage, elements: Sequence[SourceElement]) -> list[SourceElement]:
    return [e for e in elements if passage.first_element <= e.order <= passage.last_element]


def _is_open(extracted: ExtractedAnswer, principal: Principal) -> bool:
    passages = [quotation.passage for quotation in extracted.quotations]
    cited = {passage.document_id for passage in passages if passage.external is None}
    sources = {passage.external.source_uid for passage in passages if passage.external}
    documents = Document.objects.filter(pk__in=cited, scope_id__in=visible_scopes(principal))
    return documents.count() == len(cited) and open_source_uids(principal, sources) == sources


def _open_message(
    request: SearchRequest, *, principal: Principal, conversation: Conversation | None
) -> Message:
    """Where a question looks is kept with its conversation, for the next one."""
    text, collections = request.text, list(request.filters.collections or ())
    if (confines := confines_of(principal)) is not None:
        collections = [uid for uid in collections if uid in confines] or confines
    if conversation is None:
        title = shorten(" ".join(text.split()), TITLE_CHARACTERS)
        conversation = Conversation.objects.create(
            user_id=principal.user_id, title=title, collections=collections
        )
    else:
        conversation.collections = collections
        conversation.save(update_fields=["updated_at", "collections"])
    return Message.objects.create(conversation=conversation, question=text, state=Message.State.ANSWERING)


def _complete(
    message: Message, found: SearchResult, extracted: ExtractedAnswer | None, *, principal: Principal
) -> None:
    """Store the answer, or a refusal if a source has closed. Citations are bound to the version they were read from."""
    if extracted and not _is_open(extracted, principal):
        extracted = None
    message.state = Message.State.COMPLETE
    message.answer = extracted.text if extracted else refusal(principal)
    message.refused = extracted is None
    message.grounded = bool(extracted and extracted.quotations)
    message.degraded = list(found.degraded)
    message.trace_id = found.trace_id
    message.understanding = _understanding(found)
    message.save()
    quotations = extracted.quotations if extracted else ()
    sources = rows_of(one.passage.external.source_uid for one in quotations if one.passage.external)
    Citation.objects.bulk_create(
        Citation(
            message=message,
            n=quotation.n,
            document_id=quotation.passage.document_id or None,
            version_id=quotation.passage.version_id or None,
            **_cited_elsewhere(quotation.passage, sources),
            first_element=quotation.first_element,
            last_element=quotation.last_element,
            page=quotation.page,
            heading_path=list(quotation.passage.heading_path),
            quote=quotation.quote,
            is_corrected=quotation.passage.is_corrected,
        )
        for quotation in quotations
    )


def _understanding(found: SearchResult) -> dict[str, Any]:
    kept = found.understanding.as_json() if found.understanding else {}
    kept |= {"notes": list(found.notes)} if found.notes else {}
    if found.direct and (url := further_url(found.direct)):
        kept["url"] = url
    return kept


def _cited_elsewhere(passage: Passage, sources: Mapping[str, int]) -> dict[str, Any]:
    """What a citation keeps of a passage from another system."""
    if passage.external is None:
        return {}
    return {
        "source_id": sources.get(passage.external.source_uid),
        "external_key": str(passage.chunk_id),
        "external_title": passage.title,
        "external_url": passage.external.url,
        "external_allowed": None if passage.external.allowed is None else list(passage.external.allowed),
    }


def refusal(principal: Principal) -> str:
    """The one sentence that stands for every missing answer, in the reader's language."""
    with translation.override(principal.language or translation.get_language()):
        return _("Not enough evidence to answer, so I have not given one.")


def shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
