"""Other ways to rank what one recall found, to measure the real one against. Pure."""

from collections.abc import Callable, Mapping, Sequence

from retrieval.channels.index import DENSE, LEXICAL
from retrieval.fusion import (
    fuse_by_evidence,
    fuse_by_rank,
    fuse_by_scores,
    fuse_in_cascade,
)
from retrieval.recall import Recall
from retrieval.values import Candidate


def _alone(channel: str) -> Callable[[Recall], Sequence[Candidate]]:
    return lambda found: fuse_by_rank({channel: found.hits.get(channel, ())})


METHODS: Mapping[str, Callable[[Recall], Sequence[Candidate]]] = {
    "dense": _alone(DENSE),
    "lexical": _alone(LEXICAL),
    "rrf": lambda found: fuse_by_rank(found.hits),
    "minmax": lambda found: fuse_by_scores(found.hits),
    "cascade": lambda found: fuse_in_cascade(found.hits),
    "evidence": lambda found: fuse_by_evidence(found.hits, found.signals),
}
