"""LangChain retrievers as external sources: those that the operator named in KB_LANGCHAIN_RETRIEVERS, and no others.

Which of them is asked, by whom and within which limits, is set with the other sources. A retriever runs in a thread; it may
take any time, and the search goes on without it.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from functools import lru_cache
from threading import BoundedSemaphore
from typing import Any

import httpx
from django.conf import settings
from django.utils.module_loading import import_string

from kb_platform.net.errors import Busy, Late, OutboundError, Unreachable
from kb_platform.net.safe_http import Door
from retrieval.channels.external.cleaning import clean_id, clean_text, clean_title, clean_url
from retrieval.channels.external.http_knowledge import holds_any, score_of
from retrieval.channels.external.values import Record, SourceConfig

AT_ONCE = 8
URLS, SCORES = ("url", "link", "source"), ("score", "relevance_score")
_places = BoundedSemaphore(AT_ONCE)
_threads = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="langchain")


@dataclass(frozen=True, slots=True)
class LangChainChannel:
    """Any LangChain `BaseRetriever`, or another Runnable from a text to Documents."""

    retriever: Any

    def ask(self, config: SourceConfig, question: str, limit: int, seconds: float) -> list[Record]:
        """The Documents of a question as records, in their order. Raises OutboundError."""
        if not _places.acquire(blocking=False):  # a retriever that hangs keeps its place until it ends
            raise Busy()
        pending: Future[Sequence[Any]] = _threads.submit(self._documents, question)
        pending.add_done_callback(lambda _ended: _places.release())
        try:
            found = pending.result(timeout=seconds)
        except LateError as error:
            pending.cancel()
            raise Late() from error
        except (OSError, httpx.TransportError) as error:
            raise Unreachable() from error
        except Exception as error:  # a retriever may fail in any way
            raise OutboundError() from error
        return [record for document in list(found)[:limit] if (record := _record(config, document))]

    def _documents(self, question: str) -> Sequence[Any]:
        from langsmith.run_helpers import tracing_context

        with tracing_context(enabled=False):
            documents: Sequence[Any] = self.retriever.invoke(question)
        return documents


def ask_langchain(
    config: SourceConfig, question: str, limit: int, door: Door, seconds: float
) -> list[Record]:
    """Raises OutboundError, also for a retriever that is named no longer or cannot be made."""
    try:
        channel = _named(config.option("retriever"))
    except Exception as error:  # the operator's own code
        raise OutboundError() from error
    return channel.ask(config, question, limit, seconds)


def named_retrievers() -> tuple[str, ...]:
    return tuple(settings.LANGCHAIN_RETRIEVERS)


@lru_cache(maxsize=32)
def _named(name: str) -> LangChainChannel:
    """Made once: the path names a retriever, or a class or function that makes one without being told anything."""
    made = import_string(settings.LANGCHAIN_RETRIEVERS[name])
    is_one = hasattr(made, "invoke") and not isinstance(made, type)
    return LangChainChannel(made if is_one else made())


def _record(config: SourceConfig, document: Any) -> Record | None:
    metadata = document.metadata if isinstance(document.metadata, Mapping) else {}
    if config.allowed is not None and not holds_any(metadata.get(config.filter_field), config.allowed):
        return None
    text = clean_text(document.page_content)
    return Record(
        remote_id=f"{clean_id(document.id)}\n{text}",
        title=clean_title(metadata.get("title")),
        text=text,
        url=next((link for name in URLS if (link := clean_url(metadata.get(name)))), ""),
        score=next((score for name in SCORES if (score := score_of(metadata.get(name))) is not None), None),
    )
