"""Questions offered while the ask page is empty: only such as the sample documents open to this reader answer."""

from django.utils.translation import get_language

from accounts.values import Principal
from ingestion import selectors
from ingestion.samples.catalogue import DOCUMENTS, QUESTIONS

OFFERED = 4


def example_questions(principal: Principal) -> list[str]:
    """At most OFFERED, those in the reader's language first, each about another document."""
    titles = {sample.file: sample.title for sample in DOCUMENTS}
    open_titles = set(
        selectors.documents_for(principal)
        .filter(active_version__isnull=False, archived_at=None, title__in=titles.values())
        .order_by()
        .values_list("title", "source_key")
    )
    language = "zh" if (get_language() or "").startswith("zh") else "en"
    answerable = [q for q in QUESTIONS if (titles.get(q.file), q.file) in open_titles]
    one_each = {q.file: q for q in sorted(answerable, key=lambda q: q.language != language)[::-1]}
    ordered = sorted(one_each.values(), key=lambda q: q.language != language)
    return [question.text for question in ordered[:OFFERED]]
