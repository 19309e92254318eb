"""Servers that speak Elasticsearch's `_search` and Dify's external-knowledge contract, over a few records of a test."""

import base64
from collections.abc import Callable, Sequence
from typing import Any

from kb_platform.testing.http_server import Received, Reply

Document = dict[str, Any]
MADE_OF = {"size", "timeout", "track_total_hits", "_source", "query", "highlight"}


def elasticsearch(
    index: str, documents: Sequence[Document], *, api_key: str = "", basic: tuple[str, str] | None = None
) -> Callable[[Received], Reply]:
    """One index. Understands a bool query of multi_match and terms, as the real server does."""

    def answer(request: Received) -> Reply:
        if api_key and request.headers.get("Authorization") != f"ApiKey {api_key}":
            return Reply.json({"error": {"type": "security_exception"}, "status": 401}, status=401)
        if basic and request.headers.get("Authorization") != "Basic " + _basic(basic):
            return Reply.json({"error": {"type": "security_exception"}, "status": 401}, status=401)
        if request.path != f"/{index}/_search":
            return Reply.json({"error": {"type": "index_not_found_exception"}, "status": 404}, status=404)
        body = request.json()
        if unknown := body.keys() - MADE_OF:
            return Reply.json({"error": {"type": "parsing_exception", "reason": str(unknown)}}, status=400)
        return Reply.json(_searched(index, documents, body))

    return answer


def _basic(pair: tuple[str, str]) -> str:
    return base64.b64encode(":".join(pair).encode()).decode()


def _searched(index: str, documents: Sequence[Document], body: dict[str, Any]) -> dict[str, Any]:
    query = body["query"]["bool"]
    match = query["must"][0]["multi_match"]
    words = set(match["query"].lower().split())
    weights = [
        (name, float(weight or 1)) for name, _caret, weight in (f.partition("^") for f in match["fields"])
    ]
    hits: list[dict[str, Any]] = []
    for number, document in enumerate(documents):
        if not all(_holds(document, one["terms"]) for one in query.get("filter", ())):
            continue
        score = sum(
            weight * len(words & set(str(document.get(name, "")).lower().split())) for name, weight in weights
        )
        if score:
            source = {name: document[name] for name in body["_source"] if name in document}
            hits.append({"_index": index, "_id": str(number), "_score": score * 4.2, "_source": source})
    hits.sort(key=lambda hit: -hit["_score"])
    return {"took": 1, "timed_out": False, "hits": {"max_score": None, "hits": hits[: body["size"]]}}


def _holds(document: Document, terms: dict[str, list[str]]) -> bool:
    return all(document.get(name) in values for name, values in terms.items())


def dify(
    knowledge_id: str, records: Sequence[Document], *, key: str = "", obeys: bool = True
) -> Callable[[Received], Reply]:
    """Records {content, score, title, metadata}. obeys: whether conditions on metadata are applied."""

    def answer(request: Received) -> Reply:
        if key and request.headers.get("Authorization") != f"Bearer {key}":
            return Reply.json({"error_code": 1002, "error_msg": "Authorization failed"}, status=403)
        body = request.json()
        if request.path != "/retrieval" or body["knowledge_id"] != knowledge_id:
            return Reply.json({"error_code": 2001, "error_msg": "The knowledge does not exist"}, status=404)
        setting, found = body["retrieval_setting"], list(records)
        for one in body.get("metadata_condition", {}).get("conditions", ()) if obeys else ():
            found = [r for r in found if r["metadata"].get(one["name"][0]) in one["value"]]
        found = [record for record in found if record["score"] >= setting["score_threshold"]]
        return Reply.json({"records": found[: setting["top_k"]]})

    return answer
