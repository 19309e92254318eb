"""The reranker that the settings name now; read anew by each search, so that a change holds at once."""

from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from kb_platform.errors import Unavailable
from kb_platform.inference.rerank import RerankServer, RerankShape
from kb_platform.net.guard import Bounds
from kb_platform.net.safe_http import open_door
from kb_platform.runtime_config import declarations as declared
from kb_platform.runtime_config import store
from kb_platform.sealing import unseal
from retrieval.reranking.local import LocalReranker
from retrieval.reranking.protocol import Reranker

NONE, LOCAL = "none", "local"


class NotConfigured(Unavailable):
    code = "reranker_not_configured"
    message = _("A reranker is chosen, but its address or folder is missing.")


def is_chosen() -> bool:
    return store.get(declared.RERANKER) != NONE


def reranker() -> Reranker | None:
    """None when none is chosen. Raises NotConfigured or SecretLost when one is and cannot be called."""
    kind = store.get(declared.RERANKER)
    if kind == NONE:
        return None
    time_cap_s = store.get(declared.RERANKER_MS) / 1000
    if kind == LOCAL:
        if not settings.RERANKER_MODEL:
            raise NotConfigured()
        return LocalReranker(folder=Path(settings.RERANKER_MODEL), time_cap_s=time_cap_s)
    if not (url := store.get(declared.RERANKER_URL)):
        raise NotConfigured()
    return RerankServer(
        shape=RerankShape(kind),
        url=url,
        door=open_door(),
        model=store.get(declared.RERANKER_MODEL),
        key=unseal(store.get(declared.RERANKER_KEY)),
        bounds=Bounds(try_s=time_cap_s, total_s=time_cap_s),
    )
