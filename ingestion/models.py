"""Documents and what is made of them: versions, elements, sections, chunks, and the ledger of the work.

`Document.active_version` is what readers get; `latest_version` is the newest upload, whatever became of it. The physical
index tables (`dense_g<N>`, `lexical_g<N>`) are made by `ingestion.indexing.tables`, not by migrations.
"""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from pgvector.django import HalfVectorField

from accounts.models import AccessScope, new_uid


class Collection(models.Model):
    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=200)
    description = models.TextField(_("description"), blank=True)
    language = models.CharField(_("language"), max_length=10, blank=True)
    chunking = models.CharField(
        max_length=60, blank=True, help_text="Key of how its documents are cut; empty: the general way"
    )
    scope = models.OneToOneField(AccessScope, on_delete=models.PROTECT, related_name="collection")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class MetadataField(models.Model):
    """One field that a collection's managers defined for its documents; values lie in `Document.metadata` under `key`.

    The key never changes, so that renaming breaks no filter. A removed field keeps its row and the documents their values.
    """

    class Kind(models.TextChoices):
        TEXT = "text", _("Text")
        NUMBER = "number", _("Number")
        DATE = "date", _("Date")
        BOOLEAN = "boolean", _("Yes or no")
        CHOICE = "choice", _("Choice")

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="fields")
    key = models.CharField(max_length=60, help_text="The name that programs use; made from the first label")
    label = models.CharField(_("name"), max_length=60)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    choices: Any = models.JSONField(default=list, help_text="What a field of kind choice offers, in order")
    removed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "key"], name="one_field_per_key"),
        ]

    def __str__(self) -> str:
        return self.label


class Document(models.Model):
    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="documents")
    scope = models.ForeignKey(AccessScope, on_delete=models.PROTECT, related_name="documents")
    trashed_from = models.ForeignKey(
        AccessScope,
        null=True,
        on_delete=models.PROTECT,
        related_name="trashed_documents",
        help_text="In the trash: the scope it had, whose managers may bring it back",
    )
    parent = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.CASCADE,
        related_name="attached",
        help_text="The document whose file holds this one: both have the same collection and scope at every moment",
    )
    source_key = models.CharField(
        max_length=2000, help_text="source_uri, else the file name: equal keys are versions"
    )
    source_digest = models.CharField(
        max_length=64, help_text="SHA-256 of source_key, which is too long for an index"
    )
    source_uri = models.CharField(max_length=2000, blank=True)
    title = models.CharField(_("title"), max_length=500)
    retitled_at = models.DateTimeField(
        null=True, help_text="The title changed then, and stands in the index as it was before"
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    doc_type = models.CharField(_("type"), max_length=100, blank=True)
    department = models.CharField(_("department"), max_length=200, blank=True)
    security_level = models.CharField(_("security level"), max_length=100, blank=True)
    tags = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    metadata: Any = models.JSONField(default=dict, blank=True)
    language = models.CharField(max_length=10, blank=True)
    source_modified_at = models.DateTimeField(null=True)
    active_version = models.ForeignKey(
        "DocumentVersion", null=True, on_delete=models.SET_NULL, related_name="+"
    )
    latest_version = models.ForeignKey(
        "DocumentVersion", null=True, on_delete=models.SET_NULL, related_name="+"
    )
    archived_at = models.DateTimeField(null=True)
    is_faq = models.BooleanField(default=False, help_text="A question with its answer, kept in `FaqPair`")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-updated_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "source_digest"], name="one_document_per_source")
        ]
        indexes = [
            models.Index(fields=["scope", "-updated_at"], name="document_by_scope"),
            models.Index(fields=["-updated_at", "-id"], name="document_by_change"),
            models.Index(fields=["title", "id"], name="document_by_title"),
            models.Index(
                fields=["retitled_at"], condition=Q(retitled_at__isnull=False), name="document_retitled"
            ),
            GinIndex(fields=["tags"], name="document_tags"),
            GinIndex(fields=["metadata"], name="document_metadata", opclasses=["jsonb_path_ops"]),
        ]

    def __str__(self) -> str:
        return self.title


class VersionState(models.TextChoices):
    QUEUED = "queued", _("Waiting")
    PARSING = "parsing", _("Reading")
    CHUNKING = "chunking", _("Splitting")
    EMBEDDING = "embedding", _("Embedding")
    PUBLISHING = "publishing", _("Publishing")
    LIVE = "live", _("Live")
    PARTLY_LIVE = "partly_live", _("Partly live")
    SUPERSEDED = "superseded", _("Superseded")
    REJECTED = "rejected", _("Rejected")
    QUARANTINED = "quarantined", _("Quarantined")
    CANCELLED = "cancelled", _("Cancelled")


IN_FORCE = (VersionState.LIVE, VersionState.PARTLY_LIVE)
UNFINISHED = (
    VersionState.QUEUED,
    VersionState.PARSING,
    VersionState.CHUNKING,
    VersionState.EMBEDDING,
    VersionState.PUBLISHING,
)


class Verdict(models.TextChoices):
    """How well a version was read, in one word; `ingestion.quality.judge` alone decides it."""

    UNREAD = "unread", _("No usable text")
    BADLY = "badly", _("Badly read")
    PARTLY = "partly", _("Read in part")
    WELL = "well", _("Read well")


class DocumentVersion(models.Model):
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    blob = models.CharField(max_length=64, help_text="SHA-256 of the file, its name in the blob store")
    file_name = models.CharField(max_length=500)
    size_bytes = models.BigIntegerField()
    media_type = models.CharField(max_length=100, blank=True, help_text="By content, once parsed")
    state = models.CharField(max_length=20, choices=VersionState.choices, default=VersionState.QUEUED)
    reason_code = models.CharField(max_length=50, blank=True)
    reason_params: Any = models.JSONField(default=dict)
    quality: Any = models.JSONField(default=dict)
    verdict = models.CharField(max_length=10, choices=Verdict.choices, blank=True, help_text="Once read")
    read_share = models.FloatField(null=True, help_text="0..1, how much of the file was read well")
    author = models.CharField(max_length=500, blank=True, help_text="As the file names it")
    file_title = models.CharField(max_length=500, blank=True, help_text="As the file names itself")
    file_created_at = models.DateTimeField(null=True, help_text="As the file says")
    file_modified_at = models.DateTimeField(null=True, help_text="As the file says")
    encoding = models.CharField(max_length=40, blank=True)
    page_count = models.PositiveIntegerField(null=True)
    chunk_count = models.PositiveIntegerField(default=0)
    chunking = models.CharField(max_length=60, blank=True, help_text="Key of how its chunks were cut")
    language = models.CharField(max_length=10, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="version_number_once")]
        indexes = [
            models.Index(fields=["blob"], name="version_blob"),
            models.Index(fields=["verdict"], name="version_by_verdict"),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} v{self.number}"


class Element(models.Model):
    """One piece of structure of a version, in reading order; the viewer shows it, citations point at it."""

    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="elements")
    order = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    text = models.TextField()
    level = models.PositiveSmallIntegerField(default=0)
    heading_path = ArrayField(models.TextField(), default=list)
    page = models.PositiveIntegerField(null=True)
    boxes: Any = models.JSONField(default=list)
    table: Any = models.JSONField(null=True)
    confidence = models.FloatField(null=True, help_text="0..1, of text that was recognised in a picture")
    picture = models.CharField(max_length=64, blank=True, help_text="The blob of the part that shows it")

    class Meta:
        ordering = ["version", "order"]
        constraints = [models.UniqueConstraint(fields=["version", "order"], name="element_order_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.order}"


class VersionPart(models.Model):
    """A file inside a file: a picture that an element shows, or an attachment that is a document of its own."""

    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="parts")
    order = models.PositiveIntegerField()
    role = models.CharField(max_length=20)
    name = models.CharField(max_length=500)
    media_type = models.CharField(max_length=100, blank=True)
    blob = models.CharField(max_length=64)
    size_bytes = models.BigIntegerField()

    class Meta:
        ordering = ["version", "order"]
        constraints = [models.UniqueConstraint(fields=["version", "order"], name="part_order_once")]
        indexes = [models.Index(fields=["blob"], name="part_blob")]

    def __str__(self) -> str:
        return self.name


class Section(models.Model):
    """A parent window: what surrounds a chunk in its document."""

    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="sections")
    order = models.PositiveIntegerField()
    heading_path = ArrayField(models.TextField(), default=list)
    text = models.TextField()
    token_count = models.PositiveIntegerField()
    first_element = models.PositiveIntegerField()
    last_element = models.PositiveIntegerField()

    class Meta:
        ordering = ["version", "order"]
        constraints = [models.UniqueConstraint(fields=["version", "order"], name="section_order_once")]

    def __str__(self) -> str:
        return f"section {self.order}"


class IndexGeneration(models.Model):
    """One way of indexing everything. Exactly one is active; its physical tables carry its number."""

    class State(models.TextChoices):
        BUILDING = "building", _("Building")
        ACTIVE = "active", _("Active")
        RETIRED = "retired", _("Retired")

    number = models.PositiveIntegerField(unique=True)
    state = models.CharField(max_length=20, choices=State.choices, default=State.BUILDING)
    embedder = models.TextField(help_text="Fingerprint; query side and document side must match")
    dimension = models.PositiveIntegerField()
    chunker_version = models.CharField(max_length=50)
    analyzer_version = models.CharField(max_length=50)
    average_length = models.FloatField(help_text="Tokens a chunk, frozen: BM25 weights are stored with it")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=Q(state="active"), name="one_active_generation"
            )
        ]

    def __str__(self) -> str:
        return f"generation {self.number}"


class Chunk(models.Model):
    """A child passage of one generation. It is readable only while its version is the document's active one."""

    generation = models.ForeignKey(IndexGeneration, on_delete=models.CASCADE, related_name="chunks")
    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="chunks")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="chunks")
    section = models.ForeignKey(Section, on_delete=models.CASCADE, related_name="chunks")
    order = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    text = models.TextField()
    embedding_text = models.TextField()
    text_hash = models.BinaryField(max_length=32, help_text="SHA-256 of embedding_text")
    heading_path = ArrayField(models.TextField(), default=list)
    token_count = models.PositiveIntegerField()
    language = models.CharField(max_length=10, blank=True)
    first_element = models.PositiveIntegerField()
    last_element = models.PositiveIntegerField()
    page = models.PositiveIntegerField(null=True)
    boxes: Any = models.JSONField(default=list)
    own_from = models.PositiveIntegerField(
        default=0, help_text="Characters of the text that are said before it too"
    )
    correction = models.ForeignKey("Correction", null=True, on_delete=models.SET_NULL, related_name="chunks")

    class Meta:
        ordering = ["version", "order"]
        constraints = [
            models.UniqueConstraint(fields=["generation", "version", "order"], name="chunk_order_once")
        ]

    def __str__(self) -> str:
        return f"chunk {self.order}"


class Correction(models.Model):
    """What a person made of a passage: its quote, the elements where it stood, and the texts that take its place.

    It belongs to the document, so that it outlives every new way of cutting it and every new version that still holds the
    quote. One that was undone stays as history.
    """

    class Action(models.TextChoices):
        EDIT = "edit", _("Corrected")
        EXCLUDE = "exclude", _("Left out")
        SPLIT = "split", pgettext_lazy("passage", "Split")
        MERGE = "merge", _("Joined with the next")

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="corrections")
    version = models.ForeignKey(
        DocumentVersion, on_delete=models.CASCADE, related_name="+", help_text="Whose elements are counted"
    )
    action = models.CharField(max_length=10, choices=Action.choices)
    first_element = models.PositiveIntegerField()
    last_element = models.PositiveIntegerField()
    quote = models.TextField()
    texts = ArrayField(models.TextField(), default=list, help_text="A chunk each; none: left out")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    made_at = models.DateTimeField(auto_now_add=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["document", "id"], name="correction_of_document")]

    def __str__(self) -> str:
        return f"{self.action} {self.uid}"


class CorrectionOutcome(models.Model):
    """Whether a correction found its passage when the chunks of a version were made last."""

    correction = models.ForeignKey(Correction, on_delete=models.CASCADE, related_name="outcomes")
    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="correction_outcomes")
    fits = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["correction", "version"], name="correction_outcome_once")
        ]

    def __str__(self) -> str:
        return f"{self.correction_id} in {self.version_id}: {self.fits}"


class Rechunking(models.Model):
    """A document in force whose chunks are to be made anew from its elements, and who is at it.

    `wishes` grows with every reason to do so, so that one which comes while the work is being done is not lost. `reason_code`
    says why it was given up; the chunks of before stay then.
    """

    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="rechunking")
    by_person = models.BooleanField(default=False, help_text="Somebody waits for it: before all others")
    wishes = models.PositiveIntegerField(default=1)
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    failures = models.PositiveSmallIntegerField(default=0)
    reason_code = models.CharField(max_length=50, blank=True)
    requested_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["-by_person", "id"], condition=Q(reason_code=""), name="rechunking_open")
        ]

    def __str__(self) -> str:
        return f"rechunking of {self.document_id}"


class FaqPair(models.Model):
    """A question with its answer. Its document holds what readers find, its owner, its rights and whether it is valid.

    `blob` is the file that was made of question and answer: only a version made of that one says what the pair says.
    """

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="faq_pair")
    question = models.CharField(_("question"), max_length=300)
    answer = models.TextField(_("answer"))
    blob = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.question


class FaqQuestion(models.Model):
    """One wording of a pair's question, the first being the pair's own, and its vector as a question.

    `embedder` is the SHA-256 of the fingerprint of what made the vector; vectors of others are not compared.
    """

    pair = models.ForeignKey(FaqPair, on_delete=models.CASCADE, related_name="questions")
    order = models.PositiveSmallIntegerField()
    text = models.CharField(max_length=300)
    folded = models.CharField(max_length=600, db_index=True, help_text="What equal questions have in common")
    embedder = models.CharField(max_length=64, blank=True, db_index=True)
    embedding = HalfVectorField(null=True)

    class Meta:
        ordering = ["pair", "order"]
        constraints = [models.UniqueConstraint(fields=["pair", "folded"], name="faq_question_once")]

    def __str__(self) -> str:
        return self.text


class FaqImport(models.Model):
    """A file of pairs that was read and is looked at before anything of it is written; removed when it is taken over.

    `rows` holds what each line says: its number, question, answer, phrasings, owner and what is wrong with it.
    """

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="faq_imports")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    file_name = models.CharField(max_length=255)
    encoding = models.CharField(max_length=40)
    rows: Any = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.file_name


class CachedVector(models.Model):
    """Vectors by (embedder, text): a changed page embeds only what changed, a retry embeds nothing.

    Answers read the vectors of the sentences from here.
    """

    embedder = models.CharField(max_length=64, help_text="SHA-256 of the embedder's fingerprint")
    text_hash = models.BinaryField(max_length=32)
    vector = models.BinaryField(help_text="float16, little endian")
    sentences = models.BinaryField(default=b"", help_text="int8, a row for each sentence; empty: none known")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["embedder", "text_hash"], name="vector_once")]

    def __str__(self) -> str:
        return f"vector {self.pk}"


class TermStatistic(models.Model):
    """In how many chunks of a scope a term occurs, so that scores tell nothing of what a reader may not see."""

    generation = models.PositiveIntegerField()
    scope_id = models.IntegerField()
    term = models.TextField()
    chunk_count = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["generation", "scope_id", "term"], name="term_statistic_once")
        ]

    def __str__(self) -> str:
        return f"{self.term}: {self.chunk_count}"


class ScopeStatistic(models.Model):
    """How many indexed chunks a scope holds in a generation: BM25's N, and what chooses the dense plan.

    changes: how often its rows were changed, so that what was read before can be told from what would be read now.
    """

    generation = models.PositiveIntegerField()
    scope_id = models.IntegerField()
    chunk_count = models.BigIntegerField(default=0)
    changes = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["generation", "scope_id"], name="scope_statistic_once")
        ]

    def __str__(self) -> str:
        return f"scope {self.scope_id}: {self.chunk_count}"


class DictionaryTerm(models.Model):
    """A word of an organisation's own, everywhere or in one collection. It changes how texts are cut.

    wanted: what people asked for. in_force: what the index and questions are cut with. coming: what the run under way
    will make of it; None when there is none.
    """

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    collection = models.ForeignKey(Collection, null=True, on_delete=models.CASCADE, related_name="terms")
    text = models.CharField(max_length=60, help_text="As it was typed")
    key = models.CharField(max_length=200, help_text="Folded, and its token in the index")
    wanted = models.BooleanField(default=True)
    in_force = models.BooleanField(default=False)
    coming = models.BooleanField(null=True)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-added_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "key"], name="dictionary_term_once", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.text


class DictionarySynonym(models.Model):
    """Phrases that say the same. One way: the first also finds the others, not they it."""

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    collection = models.ForeignKey(Collection, null=True, on_delete=models.CASCADE, related_name="synonyms")
    phrases = ArrayField(models.CharField(max_length=60), help_text="As they were typed")
    keys = ArrayField(models.CharField(max_length=200), help_text="Folded, in the same order")
    one_way = models.BooleanField(default=False)
    weight = models.FloatField(default=0.8, help_text="0..1 of what the question's own word counts")
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-added_at", "-id"]
        indexes = [GinIndex(fields=["keys"], name="dictionary_synonym_keys")]

    def __str__(self) -> str:
        others = (", " if self.one_way else " = ").join(self.phrases[1:])
        return f"{self.phrases[0]} {'→' if self.one_way else '='} {others}"


class DictionaryStopWord(models.Model):
    """A word or phrase that a question is not searched for."""

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    collection = models.ForeignKey(Collection, null=True, on_delete=models.CASCADE, related_name="stop_words")
    text = models.CharField(max_length=60, help_text="As it was typed")
    key = models.CharField(max_length=200, help_text="Folded")
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-added_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "key"], name="dictionary_stop_word_once", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.text


class DictionaryRevision(models.Model):
    """One row: the number of what is in force. It moves in the transaction that changes what questions are cut with."""

    number = models.BigIntegerField()

    def __str__(self) -> str:
        return f"revision {self.number}"


class Recutting(models.Model):
    """One row while chunks are being cut with other terms: how far the run has looked, and how it fares.

    Whoever works on it holds the row locked for a batch, so that a worker that dies leaves nothing behind.
    """

    after_chunk = models.BigIntegerField(default=0, help_text="Chunks up to this id have been looked at")
    looked_at = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0, help_text="Chunks there were when it began")
    failures = models.PositiveSmallIntegerField(default=0)
    reason_code = models.CharField(max_length=50, blank=True, help_text="Why it was given up")
    begun_at = models.DateTimeField(auto_now_add=True)
    rung_at = models.DateTimeField(default=timezone.now, help_text="When a worker last took it in hand")

    def __str__(self) -> str:
        return f"recutting {self.looked_at}/{self.total}"


class RecutRow(models.Model):
    """A chunk as the coming terms cut it, waiting to take the place of its row in the index with all others at once."""

    generation = models.PositiveIntegerField()
    chunk_id = models.BigIntegerField()
    terms = models.TextField(help_text="Distinct tokens")
    bm25 = models.TextField(help_text="A sparsevec")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["generation", "chunk_id"], name="recut_row_once")]

    def __str__(self) -> str:
        return f"chunk {self.chunk_id}"


class IngestJob(models.Model):
    """The ledger: what has to happen to one version, who holds it, until when, and why it ended."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    class Stage(models.TextChoices):
        PARSE = "parse", _("Reading")
        EMBED = "embed", _("Embedding")
        DONE = "done", _("Done")

    class Priority(models.IntegerChoices):
        FIRST = 0, _("Before bulk loads")
        LATER = 1, _("Bulk load")

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    version = models.OneToOneField(DocumentVersion, on_delete=models.CASCADE, related_name="job")
    state = models.CharField(max_length=20, choices=State.choices, default=State.QUEUED)
    stage = models.CharField(max_length=20, choices=Stage.choices, default=Stage.PARSE)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(default=0)
    progress_unit = models.CharField(max_length=20, blank=True)
    failures = models.PositiveSmallIntegerField(
        default=0, help_text="Workers that died over it at this stage"
    )
    fence = models.BigIntegerField(
        default=0, help_text="Raised by every claim; a stale holder's writes are refused"
    )
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    deadline = models.DateTimeField(
        null=True, help_text="When the running stage is given up, whatever its lease says"
    )
    cancel_requested = models.BooleanField(default=False)
    priority = models.PositiveSmallIntegerField(choices=Priority.choices, default=Priority.FIRST)
    person = models.BigIntegerField(default=0, help_text="Whose turn it takes: who uploaded the file, or 0")
    place = models.BigIntegerField(
        default=0, help_text="Its turn among that person's: the collection it came to"
    )
    is_long = models.BooleanField(
        default=False, help_text="Takes minutes to read: one place stays free of such"
    )
    holder = models.CharField(max_length=200, blank=True, help_text="The worker that claimed it last")
    claimed_at = models.DateTimeField(null=True, help_text="When its present stage was last begun")
    not_before = models.DateTimeField(null=True, help_text="Pause after a failure")
    created_at = models.DateTimeField(auto_now_add=True)
    rung_at = models.DateTimeField(null=True, help_text="When a worker was last called")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["stage", "lease_until", "id"], condition=Q(ended_at__isnull=True), name="job_open"
            ),
            models.Index(
                fields=["stage", "priority", "person", "place", "id"],
                condition=Q(ended_at__isnull=True),
                name="job_turn",
            ),
            models.Index(fields=["person", "claimed_at"], name="person_served"),
            models.Index(fields=["person", "place", "claimed_at"], name="place_served"),
            models.Index(fields=["ended_at"], name="job_ended"),
        ]

    def __str__(self) -> str:
        return f"job {self.uid}"


class ScopeMove(models.Model):
    """A document whose index rows still carry an older scope, or which has left search; removed when they have followed."""

    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="pending_move")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"move of {self.document_id}"


class ProcessingEvent(models.Model):
    """What happened to a version on its way, for its log: appended by the ledger, never changed.

    `done` counts what the step that ends with it has done.
    """

    class Kind(models.TextChoices):
        RECEIVED = "received", _("Received")
        STARTED = "started", _("Started")
        HANDED_ON = "handed_on", _("Handed on")
        FAULT = "fault", _("Interrupted")
        ENDED = "ended", _("Ended")

    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    stage = models.CharField(max_length=20, blank=True, help_text="A state of VersionState that is work")
    attempt = models.PositiveSmallIntegerField(default=1)
    done = models.PositiveIntegerField(default=0)
    unit = models.CharField(max_length=20, blank=True)
    outcome = models.CharField(max_length=20, blank=True, help_text="How it ended: a state of VersionState")
    reason_code = models.CharField(max_length=50, blank=True)
    reason_params: Any = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["kind", "at"], name="event_by_time")]

    def __str__(self) -> str:
        return f"{self.kind} {self.stage}"


class UploadBatch(models.Model):
    """Files sent together into one collection. `grants` holds the list of their own that they got, None for none;

    `attributes` the metadata that each of their documents is given.
    """

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="upload_batches")
    grants: Any = models.JSONField(null=True)
    attributes: Any = models.JSONField(default=dict, help_text="What is said of each of its files")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"upload {self.uid}"


class UploadedFile(models.Model):
    """One file of a batch and what became of it at the door; what follows is told by its version."""

    class Outcome(models.TextChoices):
        ACCEPTED = "accepted", _("Received")
        UNCHANGED = "unchanged", _("Unchanged")
        REFUSED = "refused", _("Refused")

    batch = models.ForeignKey(UploadBatch, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=500)
    size_bytes = models.BigIntegerField(default=0)
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    version = models.ForeignKey(
        DocumentVersion, null=True, on_delete=models.SET_NULL, related_name="uploaded_files"
    )
    same_as = models.ForeignKey(
        Document, null=True, on_delete=models.SET_NULL, related_name="+", help_text="Holds the same bytes"
    )
    reason_code = models.CharField(max_length=50, blank=True)
    reason_params: Any = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class SavedView(models.Model):
    """A named set of filters and an order of the list of documents, one person's own."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="document_views"
    )
    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(max_length=1000, help_text="A query string of the list, normalised")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="one_view_per_name")]

    def __str__(self) -> str:
        return self.name


class BulkChange(models.Model):
    """What was done to many documents at once, kept so that whoever did it can take it back.

    `before` maps document ids to what they were: the ids of the old and the new collection of a move, the scope's id of a
    deletion, the old and the new values of changed metadata. Deleted documents wait in `scope`, which is granted to nobody, until `purge_after`; whoever manages
    `Document.trashed_from` brings them back.
    """

    class Action(models.TextChoices):
        MOVE = "move", _("Moved")
        ARCHIVE = "archive", _("Archived")
        RESTORE = "restore", _("Brought back")
        REREAD = "reread", _("Read again")
        DELETE = "delete", _("Deleted")
        METADATA = "metadata", _("Metadata changed")

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    action = models.CharField(max_length=20, choices=Action.choices)
    before: Any = models.JSONField(default=dict)
    scope = models.OneToOneField(AccessScope, null=True, on_delete=models.PROTECT, related_name="bulk_change")
    purge_after = models.DateTimeField(null=True, db_index=True)
    undone_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.action} {self.uid}"
