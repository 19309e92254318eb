"""What is being processed, for the tray of the Manage pages: unfinished work, and what just ended."""

import hashlib
from collections.abc import Collection as Some
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Max, Min, Q, QuerySet, Subquery, Value
from django.db.models.functions import Greatest, JSONObject, Least
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.permissions.visibility import visible_scopes
from accounts.values import Permission, Principal
from ingestion.models import IN_FORCE, UNFINISHED, DocumentVersion, IngestJob, UploadBatch, VersionState

SHOWN = 6
JUST_ENDED = timedelta(minutes=10)
LONGEST = timedelta(days=1)  # that a file which hangs keeps the count of what ended since it came


@dataclass(frozen=True, slots=True, kw_only=True)
class Tray:
    """`versions`: at most SHOWN, unfinished first. The counts are of all; `fingerprint` changes when a state does.

    batch: uid of the newest of the principal's own uploads with a file among these, if any.
    """

    versions: tuple[DocumentVersion, ...] = ()
    unfinished: int = 0
    live: int = 0
    failed: int = 0
    fingerprint: str = ""
    batch: str = ""

    @property
    def total(self) -> int:
        return self.unfinished + self.live + self.failed

    @property
    def hidden(self) -> int:
        return self.total - len(self.versions)

    @property
    def announcement(self) -> str:
        """For screen readers: said when it changes, so it holds counts of files, not of chunks."""
        if not self.total:
            return ""
        if not self.unfinished:
            return _("Processing finished.")
        text = ngettext("%(n)d file in processing", "%(n)d files in processing", self.unfinished)
        return text % {"n": self.unfinished}


def tray_for(principal: Principal, scopes: Some[int] | None = None) -> Tray:
    """Newest versions of documents that the principal may contribute to: all unfinished ones, and its own just ended.

    scopes: the ids of those documents' scopes, if they have just been read.
    """
    if scopes is None:
        scopes = visible_scopes(principal, at_least=Permission.CONTRIBUTE)
    shown = _versions(principal, scopes)
    batches = UploadBatch.objects.filter(
        created_by_id=principal.user_id, files__version__in=shown.order_by().values("pk")
    )
    versions = list(
        shown.select_related("document__collection", "job")
        .annotate(batch_uid=Subquery(batches.order_by("-pk").values("uid")[:1]), counted=_counts(shown))
        .order_by("-job__ended_at", "pk")[:SHOWN]
    )
    if not versions:
        return Tray()
    counted = versions[0].counted
    return Tray(
        versions=tuple(versions),
        unfinished=counted["unfinished"],
        live=counted["live"],
        failed=counted["total"] - counted["unfinished"] - counted["live"],
        fingerprint=hashlib.sha256(repr(counted).encode()).hexdigest()[:12],
        batch=str(versions[0].batch_uid or ""),
    )


def _counts(shown: QuerySet[DocumentVersion]) -> Subquery:
    """Of all of them, read with the few that are shown: PostgreSQL works it out once."""
    told = JSONObject(
        unfinished=Count("pk", filter=Q(state__in=UNFINISHED)),
        live=Count("pk", filter=Q(state__in=IN_FORCE)),
        total=Count("pk"),
        newest=Max("pk"),
        ended=Max("job__ended_at"),
    )
    together = shown.order_by().annotate(all=Value(1)).values("all")
    return Subquery(together.annotate(told=told).values("told"))


def _versions(principal: Principal, scopes: Some[int]) -> QuerySet[DocumentVersion]:
    recent = Q(job__ended_at__gt=_since(principal), created_by=principal.user_id)
    return DocumentVersion.objects.filter(
        Q(job__ended_at=None) | recent, document__scope_id__in=list(scopes), job__isnull=False
    ).exclude(state__in=[VersionState.SUPERSEDED, VersionState.CANCELLED])


def _since(principal: Principal) -> Greatest:
    """What ended after this still counts: while files of an upload are left, its first ones do, however long it takes."""
    now = timezone.now()
    left = IngestJob.objects.filter(ended_at=None, version__created_by=principal.user_id).order_by()
    oldest = left.annotate(all=Value(1)).values("all").annotate(first=Min("created_at")).values("first")
    uploads = UploadBatch.objects.filter(created_by_id=principal.user_id, files__version__job__in=left)
    begun = uploads.order_by("pk").values("created_at")[:1]
    came = Least(Value(now - JUST_ENDED), Subquery(oldest), Subquery(begun))
    return Greatest(Value(now - LONGEST), came)
