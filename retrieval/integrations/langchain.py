"""Zhiku as a LangChain retriever: in this process for a given reader, or over the network by address and API token.

Either way the passages are those that the search API gives, made into new Documents whose ids are ours. Nothing of Django is
imported for the way over the network, so that the module may be used where no site is configured.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self
from urllib.parse import urljoin

import httpx
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SecretStr, model_validator

SEARCH = "api/v1/search"


class SearchFailed(Exception):
    """The site gave no passages. status: of its answer, 0 for none; code: its word for the reason."""

    def __init__(self, text: str, *, status: int = 0, code: str = "unreachable") -> None:
        super().__init__(text)
        self.status, self.code = status, code


class ZhikuRetriever(BaseRetriever):
    """The passages that fit a question, of those open to one reader, best first.

    principal or user: whose rights count, in this process; a user (or its id) is looked up anew for every question.
    url and token: the address of a site and an API token with the scope `search`; the rights are those of its owner.
    filters: as in the search API (`doc_type`, `tags`, `modified_after`, `metadata.<key>`, …). collections: ids.

    `metadata` of a Document holds document, version, title, collection, heading_path, page, url, score (a plain float), rank,
    channels (name -> rank and score) and degraded (ways of searching that did not work); `id` is that of the passage.
    """

    principal: Any = Field(default=None, repr=False)
    user: Any = Field(default=None, repr=False)
    url: str = ""
    token: SecretStr = SecretStr("")
    filters: dict[str, Any] = Field(default_factory=dict)
    collections: list[str] | None = None
    top_k: int = Field(default=10, ge=1, le=100)
    mode: Literal["hybrid", "dense", "lexical"] = "hybrid"
    timeout_s: float = Field(default=10.0, gt=0)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [self.principal is not None, self.user is not None, bool(self.url)]
        if sum(ways) != 1:
            raise ValueError(
                "give whose rights count: exactly one of `principal`, `user`, or `url` with `token`"
            )
        if self.url and not self.token.get_secret_value():
            raise ValueError("`url` needs an API `token`")
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.url:
            with httpx.Client(timeout=self.timeout_s) as client:
                try:
                    response = client.post(self._address, **self._request(query))
                except httpx.HTTPError as error:
                    raise _silent(error) from error
            return self._read(response)
        from retrieval.integrations import in_process

        return documents_of(in_process.search_as(self._reader(), self._question(query)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.url:
            async with httpx.AsyncClient(timeout=self.timeout_s) as client:
                try:
                    response = await client.post(self._address, **self._request(query))
                except httpx.HTTPError as error:
                    raise _silent(error) from error
            return self._read(response)
        from retrieval.integrations import in_process

        return documents_of(await in_process.search_as_async(self._reader(), self._question(query)))

    def _reader(self) -> Any:
        return self.principal if self.principal is not None else self.user

    def _question(self, query: str) -> dict[str, Any]:
        asked = {"query": query, "top_k": self.top_k, "mode": self.mode}
        return {**asked, "filters": dict(self.filters) or None, "collections": self.collections}

    @property
    def _address(self) -> str:
        return urljoin(self.url.rstrip("/") + "/", SEARCH)

    def _request(self, query: str) -> dict[str, Any]:
        return {
            "json": self._question(query),
            "headers": {"Authorization": f"Bearer {self.token.get_secret_value()}"},
        }

    def _read(self, response: httpx.Response) -> list[Document]:
        body = _json(response)
        if response.status_code != httpx.codes.OK:
            told: Any = body.get("error")
            error: Mapping[str, Any] = told if isinstance(told, dict) else {}
            raise SearchFailed(
                str(error.get("message") or response.reason_phrase),
                status=response.status_code,
                code=str(error.get("code") or "refused"),
            )
        return documents_of(body, site=self.url)


def documents_of(body: Mapping[str, Any], *, site: str = "") -> list[Document]:
    """The results of an answer of the search API as Documents. site: what its addresses are relative to."""
    degraded = list(body["degraded"])
    return [
        _document(found, rank, degraded=list(degraded), site=site)
        for rank, found in enumerate(body["results"], start=1)
    ]


def _document(found: Mapping[str, Any], rank: int, *, degraded: list[str], site: str) -> Document:
    channels = {
        name: {"rank": int(hit["rank"]), "score": float(hit["score"])}
        for name, hit in found["channels"].items()
    }
    url = found["url"] or ""
    return Document(
        id=found["chunk_id"],
        page_content=found["text"],
        metadata={
            "document": found["document_id"],
            "version": found["version"],
            "title": found["title"],
            "collection": found["collection"],
            "collection_name": found["collection_name"],
            "heading_path": list(found["heading_path"]),
            "page": found["page"],
            "url": urljoin(site, url) if site and url else url,
            "score": float(found["score"]),
            "rank": rank,
            "channels": channels,
            "degraded": degraded,
        },
    )


def _silent(error: httpx.HTTPError) -> SearchFailed:
    return SearchFailed(f"The site did not answer: {type(error).__name__}")


def _json(response: httpx.Response) -> Mapping[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise SearchFailed(
            "The address answers, but not as a site of Zhiku.", status=response.status_code, code="no_site"
        )
    return body
