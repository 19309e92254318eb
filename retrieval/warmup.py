"""Make a fresh web process ready: load the embedder and the analyzer before the first question comes."""

import logging

from ingestion.embedding.registry import get_embedder
from ingestion.indexing.analyzer import analyze

log = logging.getLogger(__name__)
SENTENCE = "公司年假有多少天？ How many days of annual leave?"


def warm_up() -> None:
    """Never raises: without an embedder the site serves, and searches say that they are degraded."""
    try:
        analyze(SENTENCE)
        get_embedder().embed_query(SENTENCE)
    except Exception:
        log.warning("warming up failed", exc_info=True)
