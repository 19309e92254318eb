"""The JSON shapes of the retrieval API, in and out. Limits and cleaning live in the values, not here."""

from typing import Any

from rest_framework import serializers

from retrieval.chat.values import ShownCitation, ShownMessage, ShownUnderstanding
from retrieval.compression import compress
from retrieval.filters import Filters, parse_filters
from retrieval.links import place_url
from retrieval.models import Conversation, Feedback
from retrieval.query.shown import taken_back
from retrieval.query.values import condition_json
from retrieval.tracing import ShownTrace
from retrieval.values import DirectAnswer, External, Mode, Passage, SearchRequest, SearchResult


class QuestionField(serializers.CharField):
    """Text as people paste it: NUL and lone surrogates are taken out later instead of being refused here."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **options)
        self.validators = []


class _Conditions(serializers.Serializer[Any]):
    collections = serializers.ListField(
        child=serializers.CharField(), required=False, allow_null=True, allow_empty=True,
        help_text="Ids of collections to look in; leave out for all that are open to you.",
    )  # fmt: skip
    filters = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="doc_type, department, security_level, tags, language, modified_after, modified_before, "
        "metadata.<key>. A list means any of its values; an own field may also be compared: "
        "{gte, lte, gt, lt} for numbers and dates, {contains} for texts.",
    )

    without = serializers.ListField(
        child=serializers.CharField(), required=False, allow_empty=True,
        help_text="Keys of conditions understood from the question (`conditions` of an answer) that are not to apply.",
    )  # fmt: skip

    def taken_back(self) -> frozenset[str]:
        return taken_back(self.validated_data.get("without") or ())

    def conditions(self) -> Filters:
        data = self.validated_data
        return parse_filters(data.get("filters"), collections=data.get("collections"))


class SearchInput(_Conditions):
    query = QuestionField()
    top_k = serializers.IntegerField(default=10)
    offset = serializers.IntegerField(default=0)
    mode = serializers.ChoiceField(choices=[mode.value for mode in Mode], default=Mode.HYBRID.value)
    explain = serializers.BooleanField(default=False)
    compress = serializers.IntegerField(
        required=False, allow_null=True, min_value=50, max_value=10_000,
        help_text="Also give each passage shortened to about so many characters: the sentences that matter to the query.",
    )  # fmt: skip

    def request(self) -> SearchRequest:
        """Raises InvalidInput that names what cannot be used."""
        data = self.validated_data
        return SearchRequest(
            text=data["query"],
            filters=self.conditions(),
            mode=Mode(data["mode"]),
            top_k=data["top_k"],
            offset=data["offset"],
            without=self.taken_back(),
        )


class ChatInput(_Conditions):
    question = QuestionField()
    conversation = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    stream = serializers.BooleanField(default=False, help_text="Answer with server-sent events.")


class FeedbackInput(serializers.Serializer[Any]):
    vote = serializers.ChoiceField(choices=Feedback.Vote.choices)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=50, default="")
    comment = serializers.CharField(required=False, allow_blank=True, max_length=2000, default="")


def search_json(
    result: SearchResult, *, explain: bool = False, compress_to: int | None = None
) -> dict[str, Any]:
    """The answer of the search API; `explain` adds how the search went, `compress_to` the passages in short."""
    results = [passage_json(passage) for passage in result.passages]
    for shown, passage in zip(results, result.passages, strict=True):
        shown["synonyms"] = [[one.said, one.means] for one in result.synonyms_in(passage)]
    if compress_to:
        for shown in results:
            shown["compressed"] = compress(shown["text"], result.idf, limit=compress_to)
    body: dict[str, Any] = {
        "results": results,
        "total_estimate": result.total_estimate,
        "evidence": result.evidence.level.value,
        "degraded": list(result.degraded),
        "trace_id": result.trace_id,
    }
    if result.direct:
        body["direct"] = direct_json(result.direct)
    if result.understanding and result.understanding.conditions:  # a `key` in `without` takes one back
        body["conditions"] = [condition_json(condition) for condition in result.understanding.conditions]
    if result.notes:
        body["notes"] = list(result.notes)
    if explain:
        body["explain"] = {
            "timings_ms": dict(result.timings_ms),
            "terms": {term: round(weight, 4) for term, weight in result.idf.items()},
            "coverage": round(result.evidence.coverage, 4),
            "cosine": None if result.evidence.cosine is None else round(result.evidence.cosine, 4),
        }
    return body


def direct_json(direct: DirectAnswer) -> dict[str, Any]:
    """An answer that is known rather than composed; `[1]` in the text is the first of `sources`."""
    return {
        "kind": direct.kind,
        "text": direct.text,
        "sources": [passage_json(passage) for passage in direct.passages],
        "detail": dict(direct.detail),
    }


def passage_json(passage: Passage) -> dict[str, Any]:
    channels: dict[str, dict[str, Any]] = {
        name: {"rank": hit.rank, "score": round(hit.score, 6)} for name, hit in passage.channels.items()
    }
    if "lexical" in channels:
        channels["lexical"]["terms"] = list(passage.terms)
    return {
        "chunk_id": str(passage.chunk_id),
        "document_id": passage.document_uid or None,
        "title": passage.title,
        "version": passage.version_number,
        "collection": passage.collection_uid or None,
        "collection_name": passage.collection_name,
        "text": passage.text,
        "heading_path": list(passage.heading_path),
        "page": passage.page,
        "boxes": [dict(box) for box in passage.boxes],
        "is_corrected": passage.is_corrected,
        "score": round(passage.score, 8),
        "channels": channels,
        "url": place_url(passage) or None,
        "source": external_json(passage.external),
        "also_in": [
            {
                "chunk_id": str(other.chunk_id),
                "document_id": other.document_uid or None,
                "title": other.title,
                "url": place_url(other) or None,
            }
            for other in passage.also_in
        ],
    }


def external_json(external: External | None) -> dict[str, str] | None:
    """The source of a passage from another system."""
    return {"id": external.source_uid, "name": external.source_name} if external else None


def answer_json(message: ShownMessage) -> dict[str, Any]:
    """The answer of the chat API."""
    return {
        "conversation": message.conversation_uid,
        "message": message.uid,
        "answer": message.answer,
        "refused": message.refused,
        "grounded": message.grounded,
        "citations": [citation_json(citation) for citation in message.citations],
        "degraded": list(message.degraded),
        "trace_id": message.trace_id,
        **_understood_json(message.understood),
    }


def _understood_json(understood: ShownUnderstanding) -> dict[str, Any]:
    """What was looked for, where that is not simply the question."""
    told = {
        "understood_as": understood.text,
        "conditions": [dict(condition) for condition in understood.conditions],
        "notes": list(understood.notes),
    }
    return {name: value for name, value in told.items() if value}


def citation_json(citation: ShownCitation) -> dict[str, Any]:
    return {
        "n": citation.n,
        "document_id": citation.document_uid or None,
        "title": citation.title,
        "version": citation.version_number,
        "page": citation.page,
        "heading_path": list(citation.heading_path),
        "quote": citation.quote,
        "is_corrected": citation.is_corrected,
        "url": place_url(citation) or None,
        "source": external_json(citation.external),
    }


def message_json(message: ShownMessage) -> dict[str, Any]:
    """A stored message as it may be shown now."""
    return {
        "id": message.uid,
        "question": message.question,
        **{
            name: value
            for name, value in answer_json(message).items()
            if name not in ("message", "conversation")
        },
        "state": message.progress.value,
        "withdrawn": message.withdrawn,
        "vote": message.vote or None,
        "created_at": message.created_at.isoformat(),
    }


def conversation_json(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": str(conversation.uid),
        "title": conversation.title,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
    }


def trace_json(shown: ShownTrace) -> dict[str, Any]:
    trace = shown.trace
    return {
        "trace_id": trace.trace_id,
        "query": trace.query,
        "user": str(trace.user) if trace.user else None,
        "mode": trace.mode,
        "filters": trace.filters,
        "generation": trace.generation,
        "degraded": trace.degraded,
        "timings_ms": trace.timings_ms,
        "candidates": [{**candidate, "chunk": str(candidate["chunk"])} for candidate in shown.candidates],
        "left_out": shown.left_out,
        "spans": trace.spans,
        "settings": trace.settings,
        "changed": trace.changed,
        "as_user": str(trace.as_user) if trace.as_user else None,
        "shown": [key for key in shown.shown if key],
        "dropped": shown.dropped,
        "hidden_count": trace.hidden_count,
        "evidence": shown.evidence or None,
        "terms": shown.terms,
        "explanations": shown.explanations,
        "created_at": trace.created_at.isoformat(),
    }
