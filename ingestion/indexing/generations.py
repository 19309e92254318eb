"""Index generations: which one is active, and how the first is made.

The fingerprint of the embedder and the versions of chunker and analyzer are kept with a generation. Questions must be
embedded and cut exactly as its passages were.
"""

from django.db import transaction
from django.utils.translation import gettext as _

from ingestion.chunking.structure import CHUNKER_VERSION
from ingestion.embedding.protocol import Embedder
from ingestion.indexing import tables
from ingestion.indexing.analyzer import ANALYZER_VERSION
from ingestion.models import IndexGeneration
from kb_platform.errors import Unavailable

AVERAGE_LENGTH = (
    130.0  # analyzer tokens a chunk, measured on handbooks; frozen, because BM25 weights are stored
)


def active_generation() -> IndexGeneration:
    """The generation readers use. Raises Unavailable before the first start has finished."""
    generation = IndexGeneration.objects.filter(state=IndexGeneration.State.ACTIVE).first()
    if generation is None:
        raise Unavailable(_("The index is not set up yet. Run `manage.py bootstrap`."), code="no_index")
    return generation


def matches(generation: IndexGeneration, embedder: Embedder) -> bool:
    """Whether questions embedded now can be compared with the vectors stored then."""
    return generation.embedder == embedder.fingerprint


@transaction.atomic
def create_generation(embedder: Embedder, *, number: int, state: IndexGeneration.State) -> IndexGeneration:
    """A generation with its two tables, dimensioned for the embedder, and their indexes."""
    generation = IndexGeneration.objects.create(
        number=number,
        state=state,
        embedder=embedder.fingerprint,
        dimension=embedder.dimension,
        chunker_version=CHUNKER_VERSION,
        analyzer_version=ANALYZER_VERSION,
        average_length=AVERAGE_LENGTH,
    )
    tables.create_tables(number, embedder.dimension)
    return generation


def ensure_first_generation(embedder: Embedder) -> IndexGeneration:
    """Generation 1, made at first start; later the active one, after checking that the embedder is still the same."""
    existing = IndexGeneration.objects.filter(state=IndexGeneration.State.ACTIVE).first()
    if existing is None:
        with transaction.atomic():
            generation = create_generation(embedder, number=1, state=IndexGeneration.State.ACTIVE)
            tables.build_indexes(generation.number)
        return generation
    if not matches(existing, embedder):
        raise Unavailable(
            _(
                "The configured embedder is not the one the index was made with. Set KB_EMBEDDER back, "
                "or build a new index generation for the new one."
            ),
            code="embedder_changed",
        )
    return existing


@transaction.atomic
def drop_generation(generation: IndexGeneration) -> None:
    """Remove a generation that no reader uses, with its tables, chunks and statistics."""
    if generation.state == IndexGeneration.State.ACTIVE:
        raise ValueError("the active generation cannot be dropped")
    tables.drop_tables(generation.number)
    generation.delete()
