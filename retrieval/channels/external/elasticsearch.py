"""Elasticsearch and OpenSearch by their `_search` address: a match of the question on text and title, as JSON.

The question is a value in the body and never part of a query language or of the address.
"""

import base64
from collections.abc import Mapping
from typing import Any

from kb_platform.net.errors import BadAnswer
from kb_platform.net.safe_http import Door, Limits, joined, post_json
from retrieval.channels.external.cleaning import MOST_TEXT, clean_id, clean_text, clean_title, clean_url
from retrieval.channels.external.http_knowledge import at_path, holds_any, score_of
from retrieval.channels.external.values import Record, SourceConfig

MAX_BYTES = 5_000_000
TITLE_WEIGHT = 2


def ask_elasticsearch(
    config: SourceConfig, question: str, limit: int, door: Door, seconds: float
) -> list[Record]:
    """Raises OutboundError."""
    address = joined(config.option("url"), f"{config.option('index')}/_search")
    call = post_json(address, _body(config, question, limit, seconds), headers=_authorization(config))
    answer = door.send(call, Limits(total_s=seconds, max_bytes=MAX_BYTES)).json()
    hits = at_path(answer, "hits.hits")
    if not isinstance(hits, list):
        raise BadAnswer()
    return [record for hit in hits[:limit] if (record := _record(config, hit))]


def _body(config: SourceConfig, question: str, limit: int, seconds: float) -> dict[str, Any]:
    text, title = config.option("text_field"), config.option("title_field")
    fields = [text, *([f"{title}^{TITLE_WEIGHT}"] if title else [])]
    query: dict[str, Any] = {"must": [{"multi_match": {"query": question, "fields": fields}}]}
    if config.allowed is not None:
        query["filter"] = [{"terms": {config.filter_field: list(config.allowed)}}]
    wanted = (text, title, config.option("url_field"), config.filter_field)
    return {
        "size": limit,
        "timeout": f"{int(seconds * 1000)}ms",
        "track_total_hits": False,
        "_source": [name for name in wanted if name],
        "query": {"bool": query},
        "highlight": {
            "fields": {text: {"fragment_size": 600, "number_of_fragments": 3}},
            "pre_tags": [""],
            "post_tags": [""],
        },
    }


def _record(config: SourceConfig, hit: Any) -> Record | None:
    source = hit.get("_source") if isinstance(hit, Mapping) else None
    if not isinstance(source, Mapping):
        raise BadAnswer()
    if config.allowed is not None and not holds_any(_value(source, config.filter_field), config.allowed):
        return None
    text = _value(source, config.option("text_field"))
    highlight = hit.get("highlight")
    fragments = highlight.get(config.option("text_field")) if isinstance(highlight, Mapping) else None
    is_long = isinstance(text, str) and len(text) > MOST_TEXT
    return Record(
        remote_id=f"{clean_id(hit.get('_index'))}\n{clean_id(hit.get('_id'))}",
        title=clean_title(_value(source, config.option("title_field"))),
        text=clean_text(fragments if is_long and isinstance(fragments, list) else text),
        url=clean_url(_value(source, config.option("url_field"))),
        score=score_of(hit.get("_score")),
    )


def _value(source: Mapping[str, Any], name: str) -> Any:
    """A field by its whole name, else by its path."""
    return source[name] if name in source else at_path(source, name) if name else None


def _authorization(config: SourceConfig) -> dict[str, str]:
    if not config.secret:
        return {}
    if user := config.option("username"):
        return {
            "Authorization": "Basic " + base64.b64encode(f"{user}:{config.secret}".encode()).decode("ascii")
        }
    return {"Authorization": f"ApiKey {config.secret}"}
