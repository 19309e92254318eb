"""Serving what was uploaded: the original always as an attachment, a PDF page as an image. The caller has checked access."""

from http import HTTPStatus

from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

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


def page_image(request: HttpRequest, version: DocumentVersion, page: int) -> HttpResponseBase:
    """A page of a PDF as WebP; NotFound for other kinds and pages that do not exist.

    Browsers keep it but ask each time, so that whoever lost access no longer sees it.
    """
    if version.media_type != PDF or not 1 <= page <= (version.page_count or 1):
        raise NotFound()
    etag = quote_etag(f"{version.blob[:32]}-{page}-{page_images.WIDTH_PX}")
    response = get_conditional_response(request, etag=etag)
    if response is None or response.status_code != HTTPStatus.NOT_MODIFIED:
        response = HttpResponse(page_images.page_image(version.blob, page), content_type="image/webp")
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
