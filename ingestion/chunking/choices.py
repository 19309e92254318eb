"""How a collection's documents are cut: a shape with its sizes, as people choose it and as it is stored."""

from dataclasses import dataclass
from types import MappingProxyType

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

from ingestion.chunking.drafts import GENERAL, ChunkProfile, Shape
from kb_platform.errors import InvalidInput

SMALLEST = 32
_GENERAL_KEY = ""

SHAPE_NAMES = MappingProxyType(
    {
        Shape.GENERAL: gettext_lazy("General"),
        Shape.MANUAL: gettext_lazy("Manual"),
        Shape.CONTRACT: gettext_lazy("Contract or law"),
        Shape.TABLE: pgettext_lazy("kind of documents", "Tables"),
        Shape.QA: gettext_lazy("Questions and answers"),
        Shape.SLIDES: gettext_lazy("Slides"),
        Shape.CODE: gettext_lazy("Source code"),
        Shape.SEMANTIC: gettext_lazy("By meaning"),
    }
)
SHAPE_NOTES = MappingProxyType(
    {
        Shape.GENERAL: gettext_lazy("Cut at headings, then between paragraphs and sentences."),
        Shape.MANUAL: gettext_lazy("The steps of a procedure stay together with their warnings."),
        Shape.CONTRACT: gettext_lazy("A clause stays with its number and its sub-clauses."),
        Shape.TABLE: gettext_lazy("Tables stand by themselves; each group of rows repeats the header."),
        Shape.QA: gettext_lazy("A question and its answer are one passage; in tables, a row is."),
        Shape.SLIDES: gettext_lazy("A slide or page is one passage."),
        Shape.CODE: gettext_lazy("A function or class stays together."),
        Shape.SEMANTIC: gettext_lazy("Cut where the meaning changes. Reads every sentence once: slower."),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """Sizes in tokens of the embedder in use. `overlap`: of the text before, said again where a text had to be cut."""

    shape: Shape
    target: int
    largest: int
    overlap: int

    @property
    def key(self) -> str:
        """What is stored; empty for the general way with its usual sizes."""
        if self == usual(Shape.GENERAL):
            return _GENERAL_KEY
        return f"{self.shape}/{self.target}/{self.largest}/{self.overlap}"

    @property
    def name(self) -> StrOrPromise:
        return SHAPE_NAMES[self.shape]

    @property
    def profile(self) -> ChunkProfile:
        if not self.key:
            return GENERAL
        section = max(GENERAL.section_tokens, 2 * self.largest)
        return ChunkProfile(
            shape=self.shape,
            target_tokens=self.target,
            max_tokens=self.largest,
            overlap_ratio=self.overlap / self.target,
            section_tokens=section,
            section_max_tokens=section * 5 // 4,
        )


_OVERLAPS = {Shape.GENERAL: 77, Shape.MANUAL: 77, Shape.SEMANTIC: 38, Shape.CONTRACT: 38}


def usual(shape: Shape) -> Chunking:
    """A shape with the sizes that are offered for it."""
    return Chunking(
        shape=shape,
        target=GENERAL.target_tokens,
        largest=GENERAL.max_tokens,
        overlap=_OVERLAPS.get(shape, 0),
    )


def from_key(key: str) -> Chunking:
    """What was stored; the general way for a key of another release."""
    try:
        shape, target, largest, overlap = key.split("/")
        return Chunking(shape=Shape(shape), target=int(target), largest=int(largest), overlap=int(overlap))
    except ValueError:
        return usual(Shape.GENERAL)


def chosen(
    *,
    shape: str,
    target: int | None = None,
    largest: int | None = None,
    overlap: int | None = None,
    most_tokens: int,
) -> Chunking:
    """A choice that can be carried out; sizes not given are the usual ones of the shape.

    most_tokens: what the embedder in use reads. Raises InvalidInput with a reason for each field.
    """
    if shape not in set(Shape):
        raise InvalidInput(fields={"shape": _("Choose one of the profiles.")})
    offered = usual(Shape(shape))
    target = offered.target if target is None else target
    choice = Chunking(
        shape=Shape(shape),
        target=target,
        largest=offered.largest if largest is None else largest,
        overlap=min(offered.overlap, max(0, target) // 2) if overlap is None else overlap,
    )
    fields = _mistakes(choice, most_tokens)
    if fields:
        raise InvalidInput(fields=fields)
    return choice


def _mistakes(choice: Chunking, most_tokens: int) -> dict[str, StrOrPromise]:
    fields: dict[str, StrOrPromise] = {}
    if not SMALLEST <= choice.largest <= most_tokens:
        fields["largest"] = _(
            "Give a number from %(least)d to %(most)d: the embedding model in use reads no more."
        ) % {"least": SMALLEST, "most": most_tokens}
    if choice.target < SMALLEST:
        fields["target"] = _("Give at least %(least)d tokens.") % {"least": SMALLEST}
    elif choice.target > choice.largest:
        fields["target"] = _("The wished size cannot be above the largest one.")
    if not 0 <= choice.overlap <= max(0, choice.target) // 2:
        fields["overlap"] = _("Give a number from 0 to %(most)d, half of the wished size.") % {
            "most": max(0, choice.target) // 2
        }
    return fields
