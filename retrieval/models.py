"""Conversations with their citations, and one trace for each search. No document text is stored in a trace."""

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import new_uid
from retrieval.sources.models import ExternalSource


class SearchTrace(models.Model):
    """How one search went: who asked what, which candidates came from where, how long each step took."""

    trace_id = models.CharField(max_length=32, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    as_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+",
        help_text="Whose rights a replay was made with; none for one's own",
    )  # fmt: skip
    query = models.TextField()
    mode = models.CharField(max_length=20)
    filters: Any = models.JSONField(default=dict)
    generation = models.PositiveIntegerField()
    degraded: Any = models.JSONField(default=list)
    timings_ms: Any = models.JSONField(default=dict)
    candidates: Any = models.JSONField(default=list, help_text="Chunk ids with ranks and scores by channel")
    settings: Any = models.JSONField(default=dict, help_text="The knobs of this search")
    spans: Any = models.JSONField(default=list, help_text="Steps with start and duration in milliseconds")
    dropped: Any = models.JSONField(
        default=dict, help_text="Why a candidate is not among the results, by key"
    )
    hidden_count = models.PositiveIntegerField(
        default=0, help_text="Candidates no longer open when text was fetched"
    )
    evidence = models.CharField(max_length=10, blank=True)
    explanations: Any = models.JSONField(default=dict, help_text="How each channel went about it")
    shown: Any = models.JSONField(default=list, help_text="Keys of the page that was given, best first")
    offset = models.PositiveIntegerField(default=0, help_text="Results before that page")
    terms: Any = models.JSONField(default=dict, help_text="The question's terms with their weights (idf)")
    changed: Any = models.JSONField(default=list, help_text="Knobs that were set for this run alone")
    is_partly_hidden = models.BooleanField(
        default=False, help_text="Those rights opened something that was closed to the maker of the replay"
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return self.trace_id


class Conversation(models.Model):
    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200)
    collections: Any = models.JSONField(
        default=list, help_text="Uids of those the last question looked in; none for all"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-updated_at", "-id"]
        indexes = [models.Index(fields=["user", "-updated_at"], name="conversation_recent")]

    def __str__(self) -> str:
        return self.title


class Message(models.Model):
    """One question with its answer. Only a complete one has an answer and citations."""

    class State(models.TextChoices):
        ANSWERING = "answering", _("Being answered")
        COMPLETE = "complete", _("Answered")
        STOPPED = "stopped", _("Stopped")
        FAILED = "failed", _("Not answered")

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    question = models.TextField()
    answer = models.TextField(blank=True, help_text="Plain text with markers like [1]")
    state = models.CharField(max_length=10, choices=State.choices, default=State.COMPLETE)
    refused = models.BooleanField(default=False)
    grounded = models.BooleanField(default=False)
    degraded: Any = models.JSONField(default=list)
    trace_id = models.CharField(max_length=32, blank=True)
    understanding: Any = models.JSONField(
        default=dict, help_text="The question standing alone, its conditions, and what became of them"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.question[:80]


class Citation(models.Model):
    """A numbered passage behind an answer, bound to the version it was read from; shown only while visible.

    One from an external source has no document, but the source, and the title and link that it had there.
    """

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="citations")
    n = models.PositiveSmallIntegerField()
    document = models.ForeignKey("ingestion.Document", null=True, on_delete=models.SET_NULL, related_name="+")
    version = models.ForeignKey(
        "ingestion.DocumentVersion", null=True, on_delete=models.SET_NULL, related_name="+"
    )
    first_element = models.PositiveIntegerField()
    last_element = models.PositiveIntegerField()
    page = models.PositiveIntegerField(null=True)
    heading_path: Any = models.JSONField(default=list)
    quote = models.TextField()
    is_corrected = models.BooleanField(default=False, help_text="The passage had been corrected by people")
    source = models.ForeignKey(ExternalSource, null=True, on_delete=models.SET_NULL, related_name="+")
    external_key = models.CharField(max_length=100, blank=True)
    external_title = models.CharField(max_length=300, blank=True)
    external_url = models.TextField(blank=True)
    external_allowed: Any = models.JSONField(
        null=True, help_text="Values that the reader was limited to when it was found; none: no limit"
    )

    class Meta:
        ordering = ["n"]
        constraints = [models.UniqueConstraint(fields=["message", "n"], name="citation_number_once")]

    def __str__(self) -> str:
        return f"[{self.n}]"


class Feedback(models.Model):
    class Vote(models.TextChoices):
        UP = "up", _("Helpful")
        DOWN = "down", _("Not helpful")

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="feedback")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    vote = models.CharField(max_length=4, choices=Vote.choices)
    reason = models.CharField(max_length=50, blank=True)
    comment = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["message", "user"], name="one_vote_each")]

    def __str__(self) -> str:
        return self.vote


class EvaluationCase(models.Model):
    """A question whose right passages people have marked: what the ranking is measured by."""

    class Kind(models.TextChoices):
        EXACT = "exact", _("Exact: a name, number or code")
        SEMANTIC = "semantic", _("By meaning: in other words")
        CROSS_LANGUAGE = "cross_language", _("In the other language")
        MULTI_HOP = "multi_hop", _("Needs several passages")
        UNANSWERABLE = "unanswerable", _("Without an answer")

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    question = models.TextField()
    language = models.CharField(max_length=10)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    note = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return str(self.uid)


class CasePassage(models.Model):
    """A passage that answers a case: elements of a version with their words, so that it outlives any cutting into chunks."""

    case = models.ForeignKey(EvaluationCase, on_delete=models.CASCADE, related_name="passages")
    document = models.ForeignKey("ingestion.Document", on_delete=models.CASCADE, related_name="+")
    version = models.ForeignKey("ingestion.DocumentVersion", on_delete=models.CASCADE, related_name="+")
    first_element = models.PositiveIntegerField()
    last_element = models.PositiveIntegerField()
    quote = models.TextField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"elements {self.first_element} to {self.last_element}"
