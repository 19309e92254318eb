"""Knowledge APIs over HTTP: Dify's external-knowledge contract, and any API that answers a question with a JSON list.

Dify: POST <url>/retrieval {knowledge_id, query, retrieval_setting: {top_k, score_threshold}, metadata_condition} with a bearer
key -> {records: [{content, score, title, metadata}]}.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from kb_platform.inference.rerank import is_score
from kb_platform.net.errors import BadAnswer
from kb_platform.net.safe_http import Call, Door, Limits, joined, post_json
from retrieval.channels.external.cleaning import clean_id, clean_text, clean_title, clean_url
from retrieval.channels.external.values import Record, SourceConfig

MAX_BYTES = 2_000_000
DIFY_URL_FIELDS = ("url", "source_url", "link", "source")


def ask_dify(config: SourceConfig, question: str, limit: int, door: Door, seconds: float) -> list[Record]:
    """Raises OutboundError."""
    url = config.option("url").rstrip("/")
    address = url if url.endswith("/retrieval") else joined(url, "retrieval")
    body: dict[str, Any] = {
        "knowledge_id": config.option("knowledge_id"),
        "query": question,
        "retrieval_setting": {"top_k": limit, "score_threshold": 0.0},
    }
    if config.allowed is not None:
        condition = {
            "name": [config.filter_field],
            "comparison_operator": "in",
            "value": list(config.allowed),
        }
        body["metadata_condition"] = {"logical_operator": "and", "conditions": [condition]}
    call = post_json(address, body, headers=_bearer(config))
    answer = door.send(call, Limits(total_s=seconds, max_bytes=MAX_BYTES)).json()
    rows = answer.get("records") if isinstance(answer, Mapping) else None
    found = []
    for row in _rows(rows, limit):
        metadata = row.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        if not _is_allowed(config, metadata):
            continue
        url = next((link for name in DIFY_URL_FIELDS if (link := clean_url(metadata.get(name)))), "")
        identity = next(
            (text for name in ("document_id", "id", "path") if (text := clean_id(metadata.get(name)))), ""
        )
        found.append(
            Record(
                # Several passages of one document carry its id: the text tells them apart.
                remote_id=f"{identity}\n{row.get('title')}\n{row.get('content')}",
                title=clean_title(row.get("title")),
                text=clean_text(row.get("content")),
                url=url,
                score=score_of(row.get("score")),
            )
        )
    return found


def ask_http(config: SourceConfig, question: str, limit: int, door: Door, seconds: float) -> list[Record]:
    """Raises OutboundError."""
    sent: dict[str, Any] = {config.option("question_field"): question}
    if name := config.option("limit_field"):
        sent[name] = limit
    if config.allowed is not None:
        sent[config.filter_field] = list(config.allowed)
    call = _http_call(config, sent)
    answer = door.send(call, Limits(total_s=seconds, max_bytes=MAX_BYTES)).json()
    rows = _rows(at_path(answer, config.option("results_path")), limit)
    return [_record(config, row) for row in rows if _is_allowed(config, row)]


def _http_call(config: SourceConfig, sent: dict[str, Any]) -> Call:
    url, headers = config.option("url"), _bearer(config)
    if config.option("method") != "GET":
        return post_json(url, sent, headers=headers)
    joint = "&" if "?" in url else "?"
    return Call(
        url=f"{url}{joint}{urlencode(sent, doseq=True)}", headers={"Accept": "application/json", **headers}
    )


def _record(config: SourceConfig, row: Mapping[str, Any]) -> Record:
    def field(name: str) -> Any:
        path = config.option(f"{name}_field")
        return at_path(row, path) if path else None

    title, text, url = clean_title(field("title")), clean_text(field("text")), clean_url(field("url"))
    return Record(
        remote_id=clean_id(field("id")) or f"{url}\n{title}\n{text}",
        title=title,
        text=text,
        url=url,
        score=score_of(field("score")),
    )


def score_of(value: Any) -> float | None:
    """A finite number, or None for anything else."""
    return float(value) if is_score(value) else None


def at_path(value: Any, path: str) -> Any:
    """What stands under names joined by dots; an empty path is the value itself. None when a name is missing."""
    for name in filter(None, path.split(".")):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            return None
    return value


def _rows(rows: Any, limit: int) -> list[Mapping[str, Any]]:
    """Raises BadAnswer unless it is a list of objects."""
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise BadAnswer()
    return rows[:limit]


def _is_allowed(config: SourceConfig, row: Mapping[str, Any]) -> bool:
    """A second look at the condition that was sent: a server may not know it. A record without the field is not given."""
    return config.allowed is None or holds_any(at_path(row, config.filter_field), config.allowed)


def holds_any(value: Any, allowed: tuple[str, ...]) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(
        str(one) in allowed for one in values if isinstance(one, str | int) and not isinstance(one, bool)
    )


def _bearer(config: SourceConfig) -> dict[str, str]:
    return {"Authorization": f"Bearer {config.secret}"} if config.secret else {}
