"""What a question means before anything is looked for: standing alone, its conditions, its parts, its way.

Rules only. A model that proposes conditions would have to pass `conditions.checked`, as the rules do, and one that
proposes texts would have to give a `Rewriting`: the values are closed, whoever fills them.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from django.utils import timezone

from accounts.values import Principal
from retrieval.filters import Filters
from retrieval.query.catalogue import ask_catalogue
from retrieval.query.conditions import find_conditions, is_set, of_kind, speaks_of_documents, without_words
from retrieval.query.followups import stand_alone
from retrieval.query.parts import split_parts
from retrieval.query.values import Round, Route, Understanding
from retrieval.query.vocabulary import read_vocabulary
from retrieval.search_settings import SearchSettings


def understand(
    text: str,
    *,
    principal: Principal,
    settings: SearchSettings,
    history: Sequence[Round] = (),
    filters: Filters | None = None,
    without: Collection[str] = (),
) -> Understanding:
    """The understanding of one question by one reader.

    history: earlier rounds, as the reader may see them now. filters: what the reader has set; nothing is understood in
    its place. without: keys of conditions that the reader has taken back.
    """
    rewriting = stand_alone(text, history) if settings.follow_ups else None
    alone = rewriting.text if rewriting else text
    understood = Understanding(
        asked=text, text=alone, search_text=alone, sources=rewriting.sources if rewriting else ()
    )
    if settings.conditions and speaks_of_documents(alone):
        understood = _with_conditions(understood, principal, filters or Filters(), without)
    if settings.parts and understood.route is Route.PASSAGES:
        understood = replace(understood, parts=split_parts(understood.search_text))
    return understood


def _with_conditions(
    understood: Understanding, principal: Principal, filters: Filters, without: Collection[str]
) -> Understanding:
    text = understood.text
    vocabulary = read_vocabulary(principal, text)
    found = find_conditions(text, vocabulary, today=timezone.localdate())
    open_ones = [condition for condition in found if not is_set(filters, condition.name)]
    conditions = [condition for condition in open_ones if condition.key not in without]
    removed = [condition for condition in open_ones if condition.key in without]
    asked = ask_catalogue(text, conditions, vocabulary)
    if asked and asked.kind and not any(condition.name == "doc_type" for condition in found):
        kind = of_kind(text, asked.kind, asked.kind_at)
        (removed if kind.key in without else conditions).append(kind)
    return replace(
        understood,
        conditions=tuple(conditions),
        removed=tuple(removed),
        search_text=(asked.ask.topic if asked else "") or without_words(text, conditions),
        route=Route.CATALOGUE if asked else Route.PASSAGES,
        catalogue=asked.ask if asked else None,
    )
