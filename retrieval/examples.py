"""Questions to begin or to go on with: only such as documents open to this reader answer.

They are the questions of the sample documents, and headings that are questions themselves, as in lists of frequent
questions. Nothing is made up; where there is neither, nothing is offered.
"""

from collections.abc import Collection as AnyOf
from collections.abc import Iterable

from django.db.models import QuerySet
from django.db.models.functions import Length
from django.utils.translation import get_language

from accounts.values import Principal
from ingestion import selectors
from ingestion.models import Document, Element
from ingestion.parsing.elements import Kind
from ingestion.samples.catalogue import DOCUMENTS, QUESTIONS, SampleQuestion
from retrieval.evidence import is_chinese

OFFERED = 4
FURTHER = 3
LOOKED_AT = 60  # documents whose headings are read, the newest first
SHORTEST, LONGEST = 6, 80


def example_questions(principal: Principal) -> list[str]:
    """At most OFFERED, those in the reader's language first, each about another document."""
    documents = _live(principal)
    samples = {question.file: question.text for question in _first_ours(_sample_questions(documents))[::-1]}
    own = _headings(documents.exclude(title__in=_sample_titles().values()), one_each=True)
    return _ours_first([*own, *reversed(samples.values())])[:OFFERED]


def further_questions(
    principal: Principal, document_uids: Iterable[str], *, asked: AnyOf[str], language: str
) -> list[str]:
    """At most FURTHER questions in `language` that the given documents answer, without those in `asked`."""
    documents = _live(principal).filter(uid__in=list(document_uids))
    found = [
        *(q.text for q in _sample_questions(documents) if q.language == language),
        *_headings(documents, one_each=False),
    ]
    return [text for text in dict.fromkeys(found) if text not in asked and _language(text) == language][
        :FURTHER
    ]


def _live(principal: Principal) -> QuerySet[Document]:
    return (
        selectors.documents_for(principal).filter(active_version__isnull=False, archived_at=None).order_by()
    )


def _sample_titles() -> dict[str, str]:
    return {sample.file: sample.title for sample in DOCUMENTS}


def _sample_questions(documents: QuerySet[Document]) -> list[SampleQuestion]:
    titles = _sample_titles()
    there = set(documents.filter(title__in=titles.values()).values_list("title", "source_key"))
    return [question for question in QUESTIONS if (titles.get(question.file), question.file) in there]


def _headings(documents: QuerySet[Document], *, one_each: bool) -> list[str]:
    """Headings that end with a question mark, of the newest documents."""
    newest = list(documents.order_by("-id").values_list("active_version_id", flat=True)[:LOOKED_AT])
    headings = (
        Element.objects.filter(version_id__in=newest, kind=Kind.HEADING, text__regex=r"[?？]\s*$")
        .annotate(length=Length("text"))
        .filter(length__gte=SHORTEST, length__lte=LONGEST)
        .order_by("-version_id", "order")
    )
    rows = [(version, text.strip()) for version, text in headings.values_list("version_id", "text")[:40]]
    return list(dict(reversed(rows)).values())[::-1] if one_each else [text for _version, text in rows]


def _language(text: str) -> str:
    return "zh" if is_chinese(text) else "en"


def _ours() -> str:
    return "zh" if (get_language() or "").startswith("zh") else "en"


def _ours_first(texts: list[str]) -> list[str]:
    return sorted(texts, key=lambda text: _language(text) != _ours())


def _first_ours(questions: list[SampleQuestion]) -> list[SampleQuestion]:
    return sorted(questions, key=lambda question: question.language != _ours())
