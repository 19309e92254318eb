"""Pages of ingestion."""

from django.urls import path

from ingestion.dictionary.entries import Kind
from ingestion.views import (
    bulk,
    chunking,
    chunks,
    collections,
    dictionary,
    dictionary_files,
    document,
    documents,
    faq,
    fields,
    processing,
    sharing,
    uploading,
)

DICTIONARY = [
    path(f"manage/dictionary/{kind}{suffix}", view, {"kind": kind}, name=f"dictionary_{kind}{name}")
    for kind in Kind
    for suffix, view, name in (
        ("", dictionary.entries, ""),
        ("/import", dictionary_files.entries_import, "_import"),
        ("/export", dictionary_files.entries_export, "_export"),
        ("/<str:uid>/edit", dictionary.entry_edit, "_edit"),
        ("/<str:uid>/remove", dictionary.entry_remove, "_remove"),
    )
]
urlpatterns = [
    *DICTIONARY,
    path("manage/dictionary/retry", dictionary.retry, name="dictionary_retry"),
    path("system/processing", processing.processing, name="processing"),
    path("system/processing/retry", processing.processing_retry, name="processing_retry"),
    path(
        "system/processing/jobs/<str:uid>/cancel",
        processing.operate,
        {"action": "cancel"},
        name="operate_cancel",
    ),
    path(
        "system/processing/jobs/<str:uid>/retry",
        processing.operate,
        {"action": "retry"},
        name="operate_retry",
    ),
    path("manage/collections", collections.collections, name="collections"),
    path("manage/collections/new", collections.collection_new, name="collection_new"),
    path("manage/collections/<str:uid>", collections.collection, name="collection"),
    path(
        "manage/collections/<str:uid>/activity", collections.collection_activity, name="collection_activity"
    ),
    path("manage/holders", sharing.holder_search, name="holder_search"),
    path("manage/collections/<str:uid>/edit", collections.collection_edit, name="collection_edit"),
    path(
        "manage/collections/<str:uid>/chunking", chunking.collection_chunking_page, name="collection_chunking"
    ),
    path("manage/collections/<str:uid>/chunking/retry", chunking.chunking_retry, name="chunking_retry"),
    path("manage/collections/<str:uid>/delete", collections.collection_delete, name="collection_delete"),
    path("manage/collections/<str:uid>/sharing", sharing.collection_sharing, name="collection_sharing"),
    path("manage/collections/<str:uid>/fields", fields.collection_fields, name="collection_fields"),
    path("manage/collections/<str:uid>/fields/<str:key>", fields.field_edit, name="field_edit"),
    path("manage/collections/<str:uid>/fields/<str:key>/remove", fields.field_remove, name="field_remove"),
    path("manage/collections/<str:uid>/faq", faq.faq, name="faq"),
    path("manage/collections/<str:uid>/faq/new", faq.faq_new, name="faq_new"),
    path("manage/collections/<str:uid>/faq/bulk", faq.faq_bulk, name="faq_bulk"),
    path("manage/collections/<str:uid>/faq/import", faq.faq_import, name="faq_import"),
    path(
        "manage/collections/<str:uid>/faq/import/<str:upload>", faq.faq_import_check, name="faq_import_check"
    ),
    path("manage/collections/<str:uid>/faq/<str:pair>", faq.faq_edit, name="faq_edit"),
    path("manage/documents", documents.documents, name="documents"),
    path("manage/documents/upload", uploading.document_upload, name="document_upload"),
    path("manage/documents/processing", documents.processing_tray, name="processing_tray"),
    path("manage/documents/bulk", bulk.document_bulk, name="document_bulk"),
    path("manage/documents/trash", bulk.trash, name="document_trash"),
    path("manage/documents/trash/change", bulk.trash_change, name="trash_change"),
    path("manage/documents/views", documents.view_save, name="view_save"),
    path("manage/documents/views/<int:number>/delete", documents.view_delete, name="view_delete"),
    path("manage/changes/<str:uid>/undo", bulk.change_undo, name="change_undo"),
    path("manage/uploads/<str:uid>", uploading.upload_batch, name="upload_batch"),
    path("manage/uploads/<str:uid>/files", uploading.upload_file, name="upload_file"),
    path("manage/uploads/<str:uid>/retry", uploading.upload_retry, name="upload_retry"),
    path("manage/uploads/<str:uid>/cancel", uploading.upload_cancel, name="upload_cancel"),
    path("manage/documents/<str:uid>", document.document, name="document"),
    path("manage/documents/<str:uid>/versions", document.document_versions, name="document_versions"),
    path("manage/documents/<str:uid>/versions/<int:number>/file", document.version_file, name="version_file"),
    path(
        "manage/documents/<str:uid>/versions/<int:number>/restore",
        document.version_restore,
        name="version_restore",
    ),
    path("manage/documents/<str:uid>/chunks", chunks.document_chunks, name="document_chunks"),
    path("manage/documents/<str:uid>/chunks/<int:number>/edit", chunks.chunk_edit, name="chunk_edit"),
    path("manage/documents/<str:uid>/chunks/<int:number>/split", chunks.chunk_split, name="chunk_split"),
    path("manage/documents/<str:uid>/chunks/<int:number>/merge", chunks.chunk_merge, name="chunk_merge"),
    path(
        "manage/documents/<str:uid>/chunks/<int:number>/exclude", chunks.chunk_exclude, name="chunk_exclude"
    ),
    path(
        "manage/documents/<str:uid>/corrections/<str:correction>/undo",
        chunks.correction_undo,
        name="correction_undo",
    ),
    path("manage/documents/<str:uid>/rechunk", chunks.rechunk_retry, name="rechunk_retry"),
    path("manage/documents/<str:uid>/log", document.document_log, name="document_log"),
    path("manage/documents/<str:uid>/edit", document.document_edit, name="document_edit"),
    path("manage/documents/<str:uid>/owner", document.document_owner, name="document_owner"),
    path("manage/documents/<str:uid>/move", document.document_move, name="document_move"),
    path("manage/documents/<str:uid>/sharing", sharing.document_sharing, name="document_sharing"),
    path("manage/documents/<str:uid>/delete", document.document_delete, name="document_delete"),
    path("manage/documents/<str:uid>/reparse", document.document_reparse, name="document_reparse"),
    path("manage/documents/<str:uid>/archive", document.document_archive, name="document_archive"),
    path("manage/jobs/<str:uid>/cancel", document.job_cancel, name="job_cancel"),
    path("manage/jobs/<str:uid>/retry", document.job_retry, name="job_retry"),
]
