"""LangChain retrievers asked as external sources."""

import time

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from kb_platform.net.errors import Late, OutboundError, Unreachable
from kb_platform.net.guard import Bounds
from retrieval.channels.external.asking import PendingSources, ask_source
from retrieval.channels.external.langchain import _named

pytestmark = [pytest.mark.usefixtures("services")]


class Shelf(BaseRetriever):
    """Answers, waits or fails, as its question says."""

    def _get_relevant_documents(self, query, *, run_manager):
        if query == "slow":
            time.sleep(0.5)
        if query == "broken":
            raise ValueError("secret of the operator")
        if query == "away":
            raise ConnectionError
        return [
            Document(
                page_content="The torque is <b>40 Nm</b>.",
                metadata={"title": "Torque", "url": "https://wiki/1", "score": 0.9, "team": "hr"},
            ),
            Document(
                page_content="Soup at noon.",
                metadata={"source": "javascript:x", "score": 0.2, "team": ["it"]},
            ),
        ]


shelf = Shelf()


@pytest.fixture
def asked(source, door, settings):
    """`asked(question)`: the hits of the retriever as a source."""
    settings.LANGCHAIN_RETRIEVERS = {
        "shelf": f"{__name__}.shelf",
        "made": f"{__name__}.Shelf",
        "gone": "no.such",
    }
    _named.cache_clear()

    def ask(question, retriever="shelf", **options):
        made = source("langchain", None, retriever=retriever, **options)
        return ask_source(made, question, limit=5, door=door())

    yield ask
    _named.cache_clear()


def test_documents_become_records_with_ids_of_ours(asked):
    first, second = asked("torque")
    assert first.key.startswith("ext:0192f0c4-0000-7000-8000-000000000001:")
    assert (first.record.title, first.record.text, first.record.url) == (
        "Torque", "The torque is 40 Nm .", "https://wiki/1",
    )  # fmt: skip
    assert (first.score, second.score, second.record.url) == (0.9, 0.2, "")
    assert [hit.key for hit in asked("torque", retriever="made")] == [first.key, second.key]


def test_a_group_gets_only_its_values(asked):
    (only,) = asked("torque", filter_field="team", allowed=("it",))
    assert only.record.text == "Soup at noon."
    assert asked("torque", filter_field="room", allowed=("it",)) == ()


@pytest.mark.parametrize(
    ("question", "retriever", "error"),
    [("slow", "shelf", Late), ("away", "shelf", Unreachable), ("broken", "shelf", OutboundError), ("x", "gone", OutboundError), ("x", "unknown", OutboundError)],
)  # fmt: skip
def test_what_fails_or_is_late_is_told_without_its_words(asked, question, retriever, error):
    with pytest.raises(error) as failed:
        asked(question, retriever=retriever, bounds=Bounds(try_s=0.1, total_s=0.1, tries=1))
    assert "secret" not in str(failed.value)


def test_a_search_goes_on_without_it(asked, source, door):
    made = source("langchain", None, retriever="shelf")
    pending = PendingSources([made], "slow", limit=5, door=door(), deadline_s=0.1)
    (outcome,) = pending.collect()
    assert (outcome.hits, outcome.problem) == ((), "late")
