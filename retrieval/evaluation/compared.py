"""Other ways to rank what one recall found, to measure the real one against. Pure."""

from collections.abc import Callable, Mapping, Sequence

from retrieval.channels.index import DENSE, LEXICAL
from retrieval.fusion import fuse_by_evidence, fuse_by_rank, fuse_by_scores, fuse_in_cascade
from retrieval.recall import Recall
from retrieval.values import Candidate, Hit


def _hits(found: Recall, *names: str) -> dict[str, tuple[Hit, ...]]:
    return {name: found.hits.get(name, ()) for name in names or (DENSE, LEXICAL)}


METHODS: Mapping[str, Callable[[Recall], Sequence[Candidate]]] = {
    "dense": lambda found: fuse_by_rank(_hits(found, DENSE)),
    "lexical": lambda found: fuse_by_rank(_hits(found, LEXICAL)),
    "rrf": lambda found: fuse_by_rank(_hits(found)),
    "minmax": lambda found: fuse_by_scores(_hits(found)),
    "cascade": lambda found: fuse_in_cascade(_hits(found)),
    "evidence": lambda found: fuse_by_evidence(_hits(found), found.signals),
}
