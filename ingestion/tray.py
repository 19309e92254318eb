"""What is being processed, for the tray above the list of documents: unfinished work, and what just ended."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.permissions.visibility import visible_scopes
from accounts.values import Permission, Principal
from ingestion.models import IN_FORCE, UNFINISHED, DocumentVersion, VersionState

SHOWN = 12
JUST_ENDED = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tray:
    """`versions`: at most SHOWN, unfinished first. The counts are of all; `fingerprint` changes when a state does."""

    versions: tuple[DocumentVersion, ...] = ()
    unfinished: int = 0
    live: int = 0
    failed: int = 0
    fingerprint: str = ""

    @property
    def hidden(self) -> int:
        return self.unfinished + self.live + self.failed - len(self.versions)

    @property
    def announcement(self) -> str:
        """For screen readers: said when it changes, so it holds counts of files, not of chunks."""
        if not self.versions:
            return ""
        if not self.unfinished:
            return _("Processing finished.")
        text = ngettext("%(n)d file in processing", "%(n)d files in processing", self.unfinished)
        return text % {"n": self.unfinished}


def tray_for(principal: Principal) -> Tray:
    """Newest versions of documents that the principal may contribute to: all unfinished ones, and its own just ended."""
    scopes = visible_scopes(principal, at_least=Permission.CONTRIBUTE)
    recent = Q(created_by=principal.user_id, job__ended_at__gt=timezone.now() - JUST_ENDED)
    versions = list(
        DocumentVersion.objects.filter(Q(state__in=UNFINISHED) | recent, document__scope_id__in=scopes)
        .exclude(state__in=[VersionState.SUPERSEDED, VersionState.CANCELLED])
        .select_related("document__collection", "job")
        .order_by("job__ended_at", "-pk")
        .distinct()[:500]
    )
    unfinished = [version for version in versions if version.state in UNFINISHED]
    ended = [version for version in versions if version.state not in UNFINISHED]
    live = sum(version.state in IN_FORCE for version in ended)
    states = ",".join(f"{version.pk}{version.state}" for version in versions)
    return Tray(
        versions=tuple([*unfinished, *reversed(ended)][:SHOWN]),
        unfinished=len(unfinished),
        live=live,
        failed=len(ended) - live,
        fingerprint=hashlib.sha256(states.encode()).hexdigest()[:12],
    )
