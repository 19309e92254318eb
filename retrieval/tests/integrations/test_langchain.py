"""The LangChain retriever, in process and over the network, as one reader."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.context import _tracing_v2_is_enabled
from pydantic import ValidationError

from accounts.models import User
from accounts.tokens import create_token
from accounts.values import SystemActor, TokenScope
from kb_platform.errors import NotFound
from retrieval.integrations.langchain import SearchFailed, ZhikuRetriever
from retrieval.pipeline import search
from retrieval.values import SearchRequest

QUESTION = "How long is the warranty?"


@pytest.fixture
def shelf(library, reader):
    shelf = library.collection("Sales", reader)
    library.document(shelf, "Warranty", "The warranty is two years.", "Repairs are free of charge.")
    library.document(shelf, "Travel", "Trains are second class.", doc_type="policy")
    return shelf


@pytest.fixture
def retriever(shelf, reader):
    return ZhikuRetriever(principal=reader, top_k=3)


def token_of(principal, *scopes):
    user = User.objects.get(pk=principal.user_id)
    wanted = list(scopes) or [TokenScope.SEARCH]
    return create_token(actor=SystemActor(name="tests"), user=user, name="chain", scopes=wanted)[1]


def test_documents_are_the_passages_of_a_search_with_our_ids(retriever, reader):
    found = search(SearchRequest(text=QUESTION, top_k=3), principal=reader).passages
    documents = retriever.invoke(QUESTION)
    assert [document.id for document in documents] == [str(passage.chunk_id) for passage in found]
    first = documents[0]
    assert first.page_content == "The warranty is two years."
    assert first.metadata["document"] == found[0].document_uid
    assert first.metadata["version"] == 1
    assert first.metadata["heading_path"] == ["Warranty"]
    assert first.metadata["url"].startswith(f"/d/{found[0].document_uid}?")
    assert type(first.metadata["score"]) is float
    assert set(first.metadata["channels"]) == {"dense", "lexical"}
    assert [document.metadata["rank"] for document in documents] == [1, 2, 3]


def test_documents_are_copies(retriever):
    first = retriever.invoke(QUESTION)[0]
    first.metadata["heading_path"].append("changed")
    first.metadata["degraded"].append("changed")
    again = retriever.invoke(QUESTION)
    assert again[0].metadata["heading_path"] == ["Warranty"]
    assert again[1].metadata["degraded"] == []


def test_every_way_of_calling_finds_the_same(retriever):
    wanted = [document.id for document in retriever.invoke(QUESTION)]
    assert [document.id for part in retriever.stream(QUESTION) for document in part] == wanted
    assert [[document.id for document in found] for found in retriever.batch([QUESTION, QUESTION])] == [
        wanted
    ] * 2
    assert [document.id for document in asyncio.run(retriever.ainvoke(QUESTION))] == wanted
    both = asyncio.run(retriever.abatch([QUESTION, "trains"]))
    assert [document.id for document in both[0]] == wanted
    assert both[1][0].metadata["title"] == "Travel"


def test_filters_and_mode_are_those_of_the_search(shelf, library, reader):
    narrowed = ZhikuRetriever(principal=reader, filters={"doc_type": ["policy"]}, mode="lexical")
    (document,) = narrowed.invoke("second class trains")
    assert document.metadata["title"] == "Travel"
    assert set(document.metadata["channels"]) == {"lexical"}
    elsewhere = [str(library.collection("Empty", reader).uid)]
    assert ZhikuRetriever(principal=reader, collections=elsewhere).invoke(QUESTION) == []


def test_only_what_the_reader_may_see_is_found(shelf, library, reader, outsider):
    assert ZhikuRetriever(principal=outsider).invoke(QUESTION) == []
    user = User.objects.get(pk=reader.user_id)
    mine = ZhikuRetriever(user=user)
    assert mine.invoke(QUESTION)
    library.revoke(shelf.scope, reader)
    assert mine.invoke(QUESTION) == []
    User.objects.filter(pk=user.pk).update(is_active=False)
    with pytest.raises(NotFound):
        mine.invoke(QUESTION)


@pytest.mark.parametrize("ways", [{}, {"url": "http://x"}, {"principal": 1, "url": "http://x", "token": "t"}])
def test_whose_rights_count_must_be_said_in_one_way(ways):
    with pytest.raises(ValidationError):
        ZhikuRetriever(**ways)


def test_a_broken_embedder_is_told_in_the_documents(retriever, embedder):
    embedder.is_broken = True
    assert retriever.invoke(QUESTION)[0].metadata["degraded"] == ["dense"]


def test_over_the_network_it_is_the_same(site, shelf, reader, outsider):
    wanted = ZhikuRetriever(principal=reader, top_k=2).invoke(QUESTION)
    remote = ZhikuRetriever(url=site.url, token=token_of(reader), top_k=2)
    found = remote.invoke(QUESTION)
    assert [document.id for document in found] == [document.id for document in wanted]
    assert found[0].metadata["url"] == site.url + wanted[0].metadata["url"]
    assert [document.id for document in asyncio.run(remote.ainvoke(QUESTION))] == [d.id for d in wanted]
    assert ZhikuRetriever(url=site.url, token=token_of(outsider)).invoke(QUESTION) == []
    assert "kb_" not in repr(remote)


def test_refusals_and_silence_are_told_apart(site, shelf, reader):
    for token, status in (("kb_wrong", 401), (token_of(reader, TokenScope.ASK), 403)):
        with pytest.raises(SearchFailed) as refused:
            ZhikuRetriever(url=site.url, token=token).invoke(QUESTION)
        assert refused.value.status == status
    bad = ZhikuRetriever(url=site.url, token=token_of(reader), filters={"nonsense": "x"})
    with pytest.raises(SearchFailed) as refused:
        bad.invoke(QUESTION)
    assert refused.value.status == 400
    with pytest.raises(SearchFailed) as silent:
        ZhikuRetriever(url="http://127.0.0.1:9", token="kb_x").invoke(QUESTION)
    assert (silent.value.status, silent.value.code) == (0, "unreachable")
    with pytest.raises(SearchFailed):
        asyncio.run(ZhikuRetriever(url=f"{site.url}/login", token="kb_x").ainvoke(QUESTION))


def test_the_example_of_the_documents_runs(retriever):
    text = (Path(settings.BASE_DIR) / "docs" / "integrations.md").read_text()
    blocks = re.findall(r"```python example\n(.*?)```", text, re.DOTALL)
    told = {"retriever": retriever, "model": FakeListChatModel(responses=["Two years [1]."])}
    for block in blocks:
        exec(block, told)
    assert told["answer"] == "Two years [1]."
    assert isinstance(told["found"][0], Document) or "warranty" in str(told["found"])


def test_nothing_is_traced_to_the_outside():
    assert os.environ["LANGSMITH_TRACING"] == "false"
    assert not _tracing_v2_is_enabled()


@pytest.mark.integration
def test_the_network_way_needs_no_django():
    code = "import retrieval.integrations.langchain, sys; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, check=False).returncode == 0
