"""Files inside a file become documents below its document: once it is in force, in the same transaction.

Start at `follow`. It makes the documents below agree with the attachments of the version in force, and may be repeated:
an attachment that is there already, byte for byte, is left alone; one that is gone goes into the trash; one that cannot
be read is named, with the reason, in the quality of the version.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from django.db.models import OuterRef, Subquery, Sum
from django.utils import timezone

from accounts.values import SystemActor
from ingestion import blobs, bulk, families, ledger, quality, services, turns
from ingestion.allowed_types import refuse_disallowed
from ingestion.blobs import Blob
from ingestion.models import (
    IN_FORCE,
    UNFINISHED,
    Document,
    DocumentVersion,
    IngestJob,
    ProcessingEvent,
    UploadedFile,
    VersionPart,
)
from ingestion.parsing.elements import PartRole
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import FORMAT_OF, DocumentKind, extension_of
from ingestion.parsing.kinds import HEAD_BYTES, hint_of, sniff, unsupported_name
from ingestion.values import clean_name
from kb_platform.audit import record_each
from kb_platform.errors import InvalidInput

ACTOR = SystemActor(name="attachments")
MAX_BELOW = 5_000  # documents below one that was uploaded, however deep
MAX_BELOW_BYTES = 2_000_000_000
_NAMED = 20  # files in one sentence
_INHERITED = ("doc_type", "department", "security_level", "tags", "metadata")
_WARNING = "attachments_"
_LANGUAGE = re.compile(r"\.[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?$")
_RECORDINGS_FROM = 1_000_000  # their places follow those of the parts that parsing finds


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """One attachment. name: its path in the file, unique there. reason: why it is not read, "" for one that is."""

    name: str
    blob: Blob
    digest: str
    reason: str = ""
    params: tuple[tuple[str, str | int | float], ...] = ()


def follow(document: Document, version: DocumentVersion, job: IngestJob) -> None:
    """Make what is below a locked document agree with its version in force."""
    _carry_recordings(document, version)
    parts = list(version.parts.filter(role=PartRole.ATTACHMENT).order_by("order"))
    known = {
        row.source_digest: row for row in document.attached.select_for_update(of=("self",)).order_by("pk")
    }
    if not parts and not known:
        return
    judged = _judged(document, parts)
    recordings = _recordings(judged)
    found = [item for item in judged if item not in recordings]
    taken = [item for item in found if not item.reason]
    versions = _take(document, version, job, [item for item in taken if _is_new(item, known)], known)
    _trash([row for digest, row in known.items() if digest not in {item.digest for item in taken}])
    _lay_beside(document, recordings)
    _tell(version, found)
    _list_in_batches(version, found, versions)


# --- their bytes ------------------------------------------------------------------------------------------


def keeper(document: Document) -> Callable[[bytes], Blob]:
    """What stores the bytes of each part of a file while it is read.

    An archive of archives is small and fills any disk: what is inside a file below another is kept only while all files
    in the uploaded one together stay within MAX_BELOW_BYTES, read or not. Raises Rejected (`too_large`).
    """
    above = families.above(document)
    if not above:
        return lambda data: blobs.store([data])
    others = [key for key in [above[0].pk, *families.below([above[0].pk])] if key != document.pk]
    newest = Document.objects.filter(pk__in=others).values("latest_version")
    parts = VersionPart.objects.filter(version__in=newest, role=PartRole.ATTACHMENT)
    kept = parts.aggregate(n=Sum("size_bytes"))["n"] or 0

    def keep(data: bytes) -> Blob:
        nonlocal kept
        kept += len(data)
        if kept > MAX_BELOW_BYTES:
            raise Rejected("too_large", limit=f"{MAX_BELOW_BYTES / 10**9:g} GB")
        return blobs.store([data])

    return keep


# --- which ------------------------------------------------------------------------------------------------


def _judged(document: Document, parts: Sequence[VersionPart]) -> list[Attached]:
    above = families.above(document)
    root = above[0] if above else document
    inside = families.below([root.pk])
    left = MAX_BELOW - len(inside) + document.attached.count()
    newest = Document.objects.filter(pk__in=inside).exclude(parent=document)
    size = newest.aggregate(n=Sum("latest_version__size_bytes"))["n"] or 0
    judged: list[Attached] = []
    for part, name in zip(parts, _unique(parts), strict=True):
        reason: tuple[str, dict[str, str | int | float]] = ("", {})
        if len(above) >= families.MAX_DEPTH:
            reason = "too_deep", {"limit": families.MAX_DEPTH}
        elif left <= 0 or size > MAX_BELOW_BYTES:
            reason = "too_many", {"limit": f"{MAX_BELOW:,}, {MAX_BELOW_BYTES // 10**9} GB"}
        else:
            reason = _refusal(part)
        if not reason[0]:
            left, size = left - 1, size + part.size_bytes
        judged.append(_attached(document, part, name, *reason))
    return judged


def _unique(parts: Sequence[VersionPart]) -> list[str]:
    """The names of the parts, without what is no name in a path; the second of a name gets a number."""
    seen: Counter[str] = Counter()
    names = []
    for part in parts:
        steps = [clean_name(step) for step in part.name.split("/") if step.strip(". ")]
        name = "/".join(steps) or clean_name("")
        seen[name] += 1
        path = PurePosixPath(name)
        repeated = seen[name]
        names.append(name if repeated == 1 else str(path.with_name(f"{path.stem} ({repeated}){path.suffix}")))
    return names


def _attached(
    document: Document, part: VersionPart, name: str, reason: str, params: dict[str, str | int | float]
) -> Attached:
    return Attached(
        name=name,
        blob=Blob(digest=part.blob, size_bytes=part.size_bytes),
        digest=_digest(document, name),
        reason=reason,
        params=tuple(params.items()),
    )


def _digest(document: Document, name: str) -> str:
    """Names the attachment as a source. No text begins with this byte, so no source that a person names is the same."""
    return hashlib.sha256(b"\xff" + f"{document.uid}/{name}".encode("utf-8", "surrogatepass")).hexdigest()


def _refusal(part: VersionPart) -> tuple[str, dict[str, str | int | float]]:
    """The reason and its parameters for not reading an attachment; ("", {}) for one that is tried."""
    name = clean_name(part.name)
    if kind := unsupported_name(name):
        return "unsupported", {"kind": kind, **hint_of(kind)}
    with blobs.path_of(part.blob).open("rb") as file:
        head = file.read(HEAD_BYTES)
    try:
        sniff(head, file_name=name)
        refuse_disallowed(name, Blob(digest=part.blob, size_bytes=part.size_bytes))
    except Rejected as verdict:
        return verdict.code, verdict.params
    except InvalidInput as error:
        return "not_allowed", {"cause": str(error)}
    return "", {}


def _is_new(item: Attached, known: dict[str, Document]) -> bool:
    """Whether there is something to read: not when it waits, or was read, or was thrown away as it is."""
    row = known.get(item.digest)
    latest = row.latest_version if row else None
    if row is None or latest is None or latest.blob != item.blob.digest:
        return True
    return row.trashed_from_id is None and latest.state not in (*IN_FORCE, *UNFINISHED)


# --- what becomes of them ---------------------------------------------------------------------------------


def _take(
    parent: Document,
    version: DocumentVersion,
    job: IngestJob,
    items: Sequence[Attached],
    known: dict[str, Document],
) -> dict[str, DocumentVersion]:
    """A document for each that has none, a version for all, a job for each version; by the digest of their sources."""
    fresh = [_document(parent, item) for item in items if item.digest not in known]
    Document.objects.bulk_create(fresh, batch_size=500)
    rows = known | {row.source_digest: row for row in fresh}
    for item in items:
        _give_way(rows[item.digest])
    versions = [_version(rows[item.digest], item, version) for item in items]
    DocumentVersion.objects.bulk_create(versions, batch_size=500)
    # Many files in one are a bulk load as many files by themselves are: other people's do not wait for all of them.
    usual = turns.priority_for(version.created_by_id or 0, is_bulk=len(versions) > turns.SMALL_BATCH)
    priority = max(job.priority, usual)
    IngestJob.objects.bulk_create(
        [ledger.new_job(made, collection_id=parent.collection_id, priority=priority) for made in versions],
        batch_size=500,
    )
    ProcessingEvent.objects.bulk_create(
        [ProcessingEvent(version=made, kind=ProcessingEvent.Kind.RECEIVED) for made in versions],
        batch_size=500,
    )
    newest = DocumentVersion.objects.filter(document=OuterRef("pk")).order_by("-number").values("pk")[:1]
    Document.objects.filter(pk__in=[made.document_id for made in versions]).update(
        latest_version=Subquery(newest), archived_at=parent.archived_at, updated_at=timezone.now()
    )
    for _made in versions[: ledger.BELLS_AT_ONCE]:
        ledger.ring(IngestJob.Stage.PARSE)
    record_each(
        ACTOR,
        "document.uploaded",
        ((made.document, {"version": made.number, "new": made.number == 1}) for made in versions),
        inside=parent.title,
    )
    return {made.document.source_digest: made for made in versions}


def _document(parent: Document, item: Attached) -> Document:
    return Document(
        parent=parent,
        collection_id=parent.collection_id,
        scope_id=parent.scope_id,
        source_key=f"{parent.source_key}/{item.name}"[: services.MAX_SOURCE_KEY],
        source_digest=item.digest,
        title=clean_name(item.name),
        owner_id=parent.owner_id,
        archived_at=parent.archived_at,
        **{name: getattr(parent, name) for name in _INHERITED},
    )


def _give_way(row: Document) -> None:
    """A document in the trash whose attachment has changed comes back; an unfinished older version is given up."""
    if row.trashed_from_id is not None and row.parent is not None:
        row.scope_id, row.trashed_from = row.parent.scope_id, None
        row.save(update_fields=["scope", "trashed_from"])
    latest = row.latest_version
    if latest and latest.state in UNFINISHED:
        services.give_up(latest.job, "newer_version")


def _version(row: Document, item: Attached, of: DocumentVersion) -> DocumentVersion:
    latest = row.latest_version
    return DocumentVersion(
        document=row,
        number=latest.number + 1 if latest else 1,
        blob=item.blob.digest,
        size_bytes=item.blob.size_bytes,
        file_name=clean_name(item.name),
        created_by_id=of.created_by_id,
    )


def _trash(gone: Sequence[Document]) -> None:
    """What is no longer in the file, with all that is below it."""
    gone = [row for row in gone if row.trashed_from_id is None]
    if gone:
        keys = [row.pk for row in gone]
        family = Document.objects.filter(
            pk__in=[*keys, *families.below(keys, locked=True)], trashed_from=None
        )
        bulk.put_into_trash(ACTOR, list(family.select_for_update(of=("self",)).order_by("pk")))


# --- sound and video beside their subtitles ----------------------------------------------------------------


def _recordings(found: Sequence[Attached]) -> dict[Attached, list[str]]:
    """Sound and video that came together with their subtitles, with the digests of these."""
    subtitles: dict[str, list[str]] = {}
    for item in found:
        if not item.reason and extension_of(item.name) in FORMAT_OF[DocumentKind.SUBTITLES].extensions:
            subtitles.setdefault(_stem(item.name, without_language=True), []).append(item.digest)
    media = [item for item in found if ("hint", "media") in item.params]
    return {item: subtitles[_stem(item.name)] for item in media if _stem(item.name) in subtitles}


def _stem(name: str, *, without_language: bool = False) -> str:
    """The path without its ending, and without the language that subtitles carry: `talk.zh-CN.srt` is of `talk`."""
    stem = name.rpartition(".")[0]
    return (_LANGUAGE.sub("", stem) if without_language else stem).lower()


def _lay_beside(document: Document, recordings: dict[Attached, list[str]]) -> None:
    """Keep each recording as a part of the newest version of its subtitles."""
    digests = {digest for of in recordings.values() for digest in of}
    rows = document.attached.filter(source_digest__in=digests).exclude(latest_version=None)
    newest = dict(rows.values_list("source_digest", "latest_version_id"))
    VersionPart.objects.filter(version__in=newest.values(), role=PartRole.RECORDING).delete()
    VersionPart.objects.bulk_create(
        [
            VersionPart(
                version_id=newest[digest],
                order=_RECORDINGS_FROM + place,
                role=PartRole.RECORDING,
                name=clean_name(item.name),
                blob=item.blob.digest,
                size_bytes=item.blob.size_bytes,
            )
            for place, (item, of) in enumerate(recordings.items())
            for digest in of
            if digest in newest
        ]
    )


def _carry_recordings(document: Document, version: DocumentVersion) -> None:
    """Subtitles that are read again keep the recording that the version before had."""
    if document.parent_id is None or version.parts.filter(role=PartRole.RECORDING).exists():
        return
    kept = VersionPart.objects.filter(version__document=document, role=PartRole.RECORDING)
    newest = kept.order_by("-version__number").values_list("version", flat=True).first()
    for part in list(kept.filter(version=newest)):
        part.pk, part.version = None, version
        part.save()


# --- what is said of them ---------------------------------------------------------------------------------


def _tell(version: DocumentVersion, found: Iterable[Attached]) -> None:
    """Name what is not read, by reason, among the warnings of the version."""
    by_reason: dict[str, list[str]] = {}
    for item in found:
        if item.reason:
            by_reason.setdefault(_code(item), []).append(item.name)
    told = [warning for warning in version.quality.get("warnings", ()) if not warning.startswith(_WARNING)]
    for code, names in by_reason.items():
        shown = ", ".join(names[:_NAMED])
        more = f" (+{len(names) - _NAMED})" if len(names) > _NAMED else ""
        told.append(f"{code}:{shown[:450]}{more}")
    version.quality = {**version.quality, "warnings": told}
    judged = quality.judge(version.quality)
    version.verdict, version.read_share = judged.verdict, judged.share
    version.save(update_fields=["quality", "verdict", "read_share"])


def _code(item: Attached) -> str:
    reason = "media" if ("hint", "media") in item.params else item.reason
    kinds = {"too_deep", "too_many", "not_allowed", "media", "empty", "encrypted"}
    return f"{_WARNING}{reason if reason in kinds else 'unsupported'}"


def _list_in_batches(
    version: DocumentVersion, found: Sequence[Attached], versions: dict[str, DocumentVersion]
) -> None:
    """Rows in the batch that the file came with: for each attachment taken, and for each that is not, with the reason."""
    batches = set(
        version.uploaded_files.filter(outcome=UploadedFile.Outcome.ACCEPTED).values_list("batch", flat=True)
    )
    told = set(
        version.uploaded_files.filter(outcome=UploadedFile.Outcome.REFUSED).values_list("batch", "name")
    )
    rows = []
    for batch in batches:
        for item in found:
            made, name = versions.get(item.digest), f"{version.file_name}/{item.name}"[-500:]
            if made is None and (not item.reason or (batch, name) in told):
                continue
            rows.append(
                UploadedFile(
                    batch_id=batch,
                    name=name,
                    size_bytes=item.blob.size_bytes,
                    outcome=UploadedFile.Outcome.ACCEPTED if made else UploadedFile.Outcome.REFUSED,
                    version=made or version,
                    reason_code=item.reason,
                    reason_params=dict(item.params),
                )
            )
    UploadedFile.objects.bulk_create(rows, batch_size=500)
