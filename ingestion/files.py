"""Serving what was uploaded: the original always as an attachment, a PDF page as an image. The caller has checked access."""

from django.http import FileResponse, HttpResponse

from ingestion.blobs import path_of
from ingestion.models import DocumentVersion
from ingestion.rendering import page_images
from kb_platform.errors import NotFound

SANDBOX = "sandbox; default-src 'none'"
PDF = "application/pdf"


def attachment(version: DocumentVersion) -> FileResponse:
    """The original bytes under their own name, never shown inline: uploaded HTML or SVG must not run here."""
    path = path_of(version.blob)
    if not path.exists():
        raise NotFound()
    response = FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=version.file_name,
        content_type="application/octet-stream",
    )
    response["Content-Security-Policy"] = SANDBOX
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def page_image(version: DocumentVersion, page: int) -> HttpResponse:
    """A page of a PDF as WebP; NotFound for other kinds and pages that do not exist."""
    if version.media_type != PDF:
        raise NotFound()
    response = HttpResponse(page_images.page_image(version.blob, page), content_type="image/webp")
    response["Cache-Control"] = "private, max-age=3600"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
