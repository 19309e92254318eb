"""A server that speaks /rerank as TEI, Cohere and Jina do: it scores by the share of the question's words in a text."""

from collections.abc import Sequence
from typing import Any

from kb_platform.testing.http_server import Received, Reply

KEY = "a-key-for-tests"


def scores_of(question: str, texts: Sequence[str]) -> list[float]:
    words = set(question.lower().split())
    return [len(words & set(text.lower().split())) / (len(words) or 1) for text in texts]


def reranking(request: Received) -> Reply:
    """What the server answers. An unknown path, a missing field or a wrong key is an error, as there."""
    if request.method != "POST":
        return Reply.json({"error": "method"}, status=405)
    body = request.json()
    if request.headers.get("Authorization") not in (None, f"Bearer {KEY}"):
        return Reply.json({"message": "invalid api token"}, status=401)
    try:
        return Reply.json(_answer(request.path, body))
    except KeyError as error:
        return Reply.json({"message": f"missing {error}"}, status=422)


def _answer(path: str, body: dict[str, Any]) -> Any:
    if path == "/rerank":
        scored = enumerate(scores_of(body["query"], body["texts"]))
        return sorted(({"index": i, "score": s} for i, s in scored), key=lambda row: -row["score"])
    if path in ("/v1/rerank", "/v2/rerank"):
        scored = enumerate(scores_of(body["query"], body["documents"]))
        rows = sorted(
            ({"index": i, "relevance_score": s} for i, s in scored), key=lambda row: -row["relevance_score"]
        )
        return {"id": "x", "model": body["model"], "results": rows[: body.get("top_n", len(rows))]}
    raise KeyError(path)
