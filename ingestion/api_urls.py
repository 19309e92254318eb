"""Routes of the ingestion API below /api/v1/."""

from django.urls import path

from ingestion import api, api_bulk, api_chunks, api_dictionary, api_faq, api_fields
from ingestion.dictionary.entries import Kind

DICTIONARY = [
    path(f"dictionary/{kind}{suffix}", view.as_view(), {"kind": kind}, name=f"api_dictionary_{kind}{name}")
    for kind in Kind
    for suffix, view, name in (
        ("", api_dictionary.Entries, ""),
        ("/preview", api_dictionary.Preview, "_preview"),
        ("/<str:uid>", api_dictionary.OneEntry, "_entry"),
    )
]
urlpatterns = [
    path("dictionary/progress", api_dictionary.Progress.as_view(), name="api_dictionary_progress"),
    *DICTIONARY,
    path("collections", api.CollectionList.as_view(), name="api_collections"),
    path("collections/<str:uid>", api.CollectionDetail.as_view(), name="api_collection"),
    path("collections/<str:uid>/grants", api.CollectionGrants.as_view(), name="api_collection_grants"),
    path(
        "collections/<str:uid>/grants/preview",
        api.CollectionGrantsPreview.as_view(),
        name="api_collection_grants_preview",
    ),
    path("collections/<str:uid>/access", api.CollectionAccess.as_view(), name="api_collection_access"),
    path(
        "collections/<str:uid>/chunking",
        api_chunks.CollectionChunking.as_view(),
        name="api_collection_chunking",
    ),
    path(
        "collections/<str:uid>/chunking/preview",
        api_chunks.CollectionChunkingPreview.as_view(),
        name="api_collection_chunking_preview",
    ),
    path("collections/<str:uid>/fields", api_fields.CollectionFields.as_view(), name="api_collection_fields"),
    path(
        "collections/<str:uid>/fields/<str:key>",
        api_fields.CollectionField.as_view(),
        name="api_collection_field",
    ),
    path("collections/<str:uid>/faq", api_faq.CollectionFaq.as_view(), name="api_collection_faq"),
    path(
        "collections/<str:uid>/faq/delete",
        api_faq.CollectionFaqDelete.as_view(),
        name="api_collection_faq_delete",
    ),
    path(
        "collections/<str:uid>/faq/import",
        api_faq.CollectionFaqImport.as_view(),
        name="api_collection_faq_import",
    ),
    path("faq/<str:uid>", api_faq.FaqDetail.as_view(), name="api_faq"),
    path("holders", api.HolderList.as_view(), name="api_holders"),
    path("documents", api.DocumentList.as_view(), name="api_documents"),
    path("documents/summary", api.DocumentSummary.as_view(), name="api_document_summary"),
    path("documents/bulk", api_bulk.DocumentBulk.as_view(), name="api_document_bulk"),
    path("trash", api.TrashList.as_view(), name="api_trash"),
    path("trash/<str:uid>/restore", api.TrashRestore.as_view(), name="api_trash_restore"),
    path("changes/<str:uid>/undo", api_bulk.ChangeUndo.as_view(), name="api_change_undo"),
    path("uploads", api_bulk.UploadList.as_view(), name="api_uploads"),
    path("uploads/<str:uid>", api_bulk.UploadDetail.as_view(), name="api_upload"),
    path("uploads/<str:uid>/files", api_bulk.UploadFiles.as_view(), name="api_upload_files"),
    path("documents/<str:uid>", api.DocumentDetail.as_view(), name="api_document"),
    path("documents/<str:uid>/grants", api.DocumentGrants.as_view(), name="api_document_grants"),
    path(
        "documents/<str:uid>/grants/preview",
        api.DocumentGrantsPreview.as_view(),
        name="api_document_grants_preview",
    ),
    path("documents/<str:uid>/access", api.DocumentAccess.as_view(), name="api_document_access"),
    path("documents/<str:uid>/reparse", api.DocumentReparse.as_view(), name="api_document_reparse"),
    path("documents/<str:uid>/versions", api.DocumentVersions.as_view(), name="api_document_versions"),
    path("documents/<str:uid>/chunks", api.DocumentChunks.as_view(), name="api_document_chunks"),
    path(
        "documents/<str:uid>/corrections",
        api_chunks.DocumentCorrections.as_view(),
        name="api_document_corrections",
    ),
    path(
        "documents/<str:uid>/corrections/<str:correction>/undo",
        api_chunks.CorrectionUndo.as_view(),
        name="api_correction_undo",
    ),
    path("documents/<str:uid>/file", api.DocumentFile.as_view(), name="api_document_file"),
    path("documents/<str:uid>/pages/<int:page>.webp", api.DocumentPage.as_view(), name="api_document_page"),
    path(
        "documents/<str:uid>/pictures/<str:digest>.webp",
        api.DocumentPicture.as_view(),
        name="api_document_picture",
    ),
    path(
        "documents/<str:uid>/recordings/<str:digest>",
        api.DocumentRecording.as_view(),
        name="api_document_recording",
    ),
    path("jobs/<str:uid>", api.JobDetail.as_view(), name="api_job"),
    path("jobs/<str:uid>/cancel", api.JobCancel.as_view(), name="api_job_cancel"),
    path("jobs/<str:uid>/retry", api.JobRetry.as_view(), name="api_job_retry"),
]
