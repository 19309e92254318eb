"""Reading conversations back. One's own only, and every source is checked again each time an answer is shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import Collection, Document
from kb_platform.errors import NotFound
from kb_platform.json_values import is_storable
from retrieval.channels.external.cleaning import clean_url
from retrieval.chat.values import Progress, ShownCitation, ShownMessage, ShownUnderstanding
from retrieval.models import Citation, Conversation, Feedback, Message
from retrieval.sources.models import ExternalSource
from retrieval.sources.selectors import OpenSources, open_sources
from retrieval.values import External


def conversations_for(principal: Principal) -> QuerySet[Conversation]:
    """The principal's own conversations, the latest first; for a limited token those that looked nowhere else last."""
    own = Conversation.objects.filter(user_id=principal.user_id)
    confines = confines_of(principal)
    if confines is None:
        return own
    return own.filter(collections__contained_by=confines).exclude(collections=[])


def confines_of(principal: Principal) -> list[str] | None:
    """Uids of the collections that a token is limited to; None for everybody else."""
    if principal.token is None or not principal.token.collections:
        return None
    limits = Collection.objects.filter(scope_id__in=principal.token.collections).order_by("pk")
    return [str(uid) for uid in limits.values_list("uid", flat=True)]


def find_conversations(principal: Principal, text: str) -> QuerySet[Conversation]:
    """The principal's own conversations with all of `text` in the title or in one of the questions."""
    own, wanted = conversations_for(principal), text.replace("\x00", "").strip()
    if not is_storable(wanted):
        return own.none()
    asked = Message.objects.filter(conversation=OuterRef("pk"), question__icontains=wanted)
    return own.filter(Q(title__icontains=wanted) | Exists(asked)) if wanted else own


def get_conversation(principal: Principal, uid: str) -> Conversation:
    """One's own conversation. Raises NotFound for all others."""
    found = conversations_for(principal).filter(uid=_parsed(uid)).first()
    if found is None:
        raise NotFound()
    return found


def get_message(principal: Principal, uid: str) -> Message:
    """A message of one's own conversation. Raises NotFound for all others."""
    own = Message.objects.filter(uid=_parsed(uid), conversation__in=conversations_for(principal).order_by())
    found = _with_sources(principal, own).first()
    if found is None:
        raise NotFound()
    return found


def messages_of(principal: Principal, conversation: Conversation) -> list[ShownMessage]:
    """All messages of one's own conversation, oldest first, as they may be shown now."""
    if conversation.user_id != principal.user_id:
        raise NotFound()
    return _all_shown(principal, list(_with_sources(principal, conversation.messages.order_by("id"))))


def last_messages(principal: Principal, conversation: Conversation, count: int) -> list[ShownMessage]:
    """The last messages of one's own conversation, oldest first, as they may be shown now."""
    if conversation.user_id != principal.user_id:
        raise NotFound()
    latest = _with_sources(principal, conversation.messages.order_by("-id"))[:count]
    return _all_shown(principal, list(latest)[::-1])


def visible_message(principal: Principal, message: Message) -> ShownMessage:
    """The message as it may be shown now: withdrawn when any cited document is gone or no longer open."""
    return _all_shown(principal, [message])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenNow:
    """What the reader may see now: scopes of documents, and external sources. documents: those that a question was
    understood by."""

    scopes: frozenset[int]
    sources: OpenSources
    documents: frozenset[str]

    def covers(self, citation: Citation) -> bool:
        if citation.document is not None:
            return citation.document.scope_id in self.scopes
        source = citation.source
        return source is not None and self.sources.cover(str(source.uid), citation.external_allowed)


def _all_shown(principal: Principal, messages: Sequence[Message]) -> list[ShownMessage]:
    scopes = frozenset(visible_scopes(principal))
    named = {uid for message in messages for uid in message.understanding.get("sources", ())}
    found = Document.objects.filter(uid__in=named, scope_id__in=scopes) if named else Document.objects.none()
    is_elsewhere = any(citation.source for message in messages for citation in message.citations.all())
    now = _OpenNow(
        scopes=scopes,
        sources=open_sources(principal) if is_elsewhere else OpenSources(limits={}),
        documents=frozenset(str(uid) for uid in found.values_list("uid", flat=True)),
    )
    return [_shown(message, now) for message in messages]


def _with_sources(principal: Principal, messages: QuerySet[Message]) -> QuerySet[Message]:
    return messages.select_related("conversation").prefetch_related(
        Prefetch("citations", Citation.objects.select_related("document", "version", "source").order_by("n")),
        Prefetch("feedback", Feedback.objects.filter(user_id=principal.user_id)),
    )


def _shown(message: Message, now: _OpenNow) -> ShownMessage:
    citations = list(message.citations.all())
    said = next(iter(message.feedback.all()), None)
    withdrawn = not all(now.covers(citation) for citation in citations)
    return ShownMessage(
        uid=str(message.uid),
        conversation_uid=str(message.conversation.uid),
        question=message.question,
        answer=_("It cited material that is no longer open to you.") if withdrawn else message.answer,
        refused=message.refused,
        grounded=message.grounded and not withdrawn,
        withdrawn=withdrawn,
        citations=() if withdrawn else tuple(_shown_citations(citations)),
        degraded=tuple(message.degraded),
        trace_id=message.trace_id,
        created_at=message.created_at,
        vote=said.vote if said else "",
        reason=said.reason if said else "",
        progress=_progress(message),
        understood=ShownUnderstanding() if withdrawn else _understood(message.understanding, now.documents),
    )


def _understood(stored: Mapping[str, Any], open_uids: frozenset[str]) -> ShownUnderstanding:
    is_open = set(stored.get("sources", ())) <= open_uids
    return ShownUnderstanding(
        text=stored.get("text", "") if is_open else "",
        conditions=tuple(stored.get("conditions", ())),
        removed=tuple(stored.get("removed", ())),
        notes=tuple(stored.get("notes", ())),
        url=stored.get("url", "") if is_open else "",
    )


def _progress(message: Message) -> Progress:
    """An answer that is older than any may become has lost its producer."""
    if message.state == Message.State.COMPLETE:
        return Progress.COMPLETE
    age_s = (timezone.now() - message.created_at).total_seconds()
    is_answering = message.state == Message.State.ANSWERING and age_s <= settings.ANSWER_DEADLINE_S
    return Progress.ANSWERING if is_answering else Progress.INTERRUPTED


def _shown_citations(citations: Iterable[Citation]) -> Iterable[ShownCitation]:
    for citation in citations:
        if citation.document is not None:
            yield ShownCitation(
                n=citation.n,
                document_uid=str(citation.document.uid),
                title=citation.document.title,
                version_number=citation.version.number if citation.version else None,
                page=citation.page,
                heading_path=tuple(citation.heading_path),
                quote=citation.quote,
                first_element=citation.first_element,
                last_element=citation.last_element,
                is_corrected=citation.is_corrected,
            )
        elif citation.source is not None:
            yield _shown_elsewhere(citation, citation.source)


def _shown_elsewhere(citation: Citation, source: ExternalSource) -> ShownCitation:
    return ShownCitation(
        n=citation.n,
        document_uid="",
        title=citation.external_title,
        version_number=None,
        page=None,
        heading_path=(),
        quote=citation.quote,
        first_element=0,
        last_element=0,
        external=External(
            source_uid=str(source.uid), source_name=source.name, url=clean_url(citation.external_url)
        ),
    )


def _parsed(uid: str) -> UUID:
    try:
        return UUID(uid)
    except ValueError:
        raise NotFound() from None
