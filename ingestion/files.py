"""Serving what was uploaded: the original always as an attachment, pages and pictures as images that are drawn anew. The caller has checked access."""

from http import HTTPStatus

from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

from ingestion.blobs import path_of
from ingestion.models import DocumentVersion, VersionPart
from ingestion.parsing.elements import PartRole
from ingestion.rendering import page_images
from kb_platform.errors import NotFound
from kb_platform.json_values import is_storable

SANDBOX = "sandbox; default-src 'none'"
_PDF = "application/pdf"


def has_page_images(version: DocumentVersion) -> bool:
    """Whether its pages can be drawn: those of PDFs and of pictures."""
    return bool(version.page_count) and (
        version.media_type == _PDF or version.media_type.startswith("image/")
    )


def attachment(version: DocumentVersion) -> FileResponse:
    """The original bytes under their own name, never shown inline: uploaded HTML or SVG must not run here."""
    return _saved(version.blob, version.file_name)


def _saved(blob: str, name: str) -> FileResponse:
    path = path_of(blob)
    if not path.exists():
        raise NotFound()
    response = FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=name,
        content_type="application/octet-stream",
    )
    response["Content-Security-Policy"] = SANDBOX
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def recording(version: DocumentVersion, digest: str) -> FileResponse:
    """The sound or video that came with subtitles, to be saved; NotFound for what the version does not have."""
    part = _part(version, PartRole.RECORDING, digest)
    return _saved(part.blob, part.name)


def page_image(request: HttpRequest, version: DocumentVersion, page: int) -> HttpResponseBase:
    """A page as WebP; NotFound for kinds that are not drawn and pages that do not exist."""
    if not has_page_images(version) or not 1 <= page <= (version.page_count or 1):
        raise NotFound()
    return _drawn(request, version.blob, page)


def picture(request: HttpRequest, version: DocumentVersion, digest: str) -> HttpResponseBase:
    """A picture inside a file as WebP; NotFound for one that the version does not hold."""
    return _drawn(request, _part(version, PartRole.PICTURE, digest).blob, 1)


def _part(version: DocumentVersion, role: PartRole, digest: str) -> VersionPart:
    """Raises NotFound, also for what can be no digest."""
    part = version.parts.filter(role=role, blob=digest).first() if is_storable(digest) else None
    if part is None:
        raise NotFound()
    return part


def _drawn(request: HttpRequest, digest: str, page: int) -> HttpResponseBase:
    """Browsers keep it but ask each time, so that whoever lost access no longer sees it."""
    etag = quote_etag(f"{digest[:32]}-{page}-{page_images.WIDTH_PX}")
    response = get_conditional_response(request, etag=etag)
    if response is None or response.status_code != HTTPStatus.NOT_MODIFIED:
        response = HttpResponse(page_images.page_image(digest, page), content_type="image/webp")
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
