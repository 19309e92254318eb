"""Pages of ingestion."""

from django.urls import path

from ingestion.views import collections, documents, sharing

urlpatterns = [
    path("manage/collections", collections.collections, name="collections"),
    path("manage/collections/new", collections.collection_new, name="collection_new"),
    path("manage/collections/<str:uid>", collections.collection, name="collection"),
    path(
        "manage/collections/<str:uid>/activity", collections.collection_activity, name="collection_activity"
    ),
    path("manage/holders", sharing.holder_search, name="holder_search"),
    path("manage/collections/<str:uid>/edit", collections.collection_edit, name="collection_edit"),
    path("manage/collections/<str:uid>/delete", collections.collection_delete, name="collection_delete"),
    path("manage/collections/<str:uid>/sharing", sharing.collection_sharing, name="collection_sharing"),
    path("manage/documents", documents.documents, name="documents"),
    path("manage/documents/upload", documents.document_upload, name="document_upload"),
    path("manage/documents/processing", documents.processing_tray, name="processing_tray"),
    path("manage/documents/<str:uid>", documents.document, name="document"),
    path("manage/documents/<str:uid>/edit", documents.document_edit, name="document_edit"),
    path("manage/documents/<str:uid>/move", documents.document_move, name="document_move"),
    path("manage/documents/<str:uid>/sharing", sharing.document_sharing, name="document_sharing"),
    path("manage/documents/<str:uid>/delete", documents.document_delete, name="document_delete"),
    path("manage/documents/<str:uid>/reparse", documents.document_reparse, name="document_reparse"),
    path("manage/documents/<str:uid>/archive", documents.document_archive, name="document_archive"),
    path("manage/jobs/<str:uid>/cancel", documents.job_cancel, name="job_cancel"),
    path("manage/jobs/<str:uid>/retry", documents.job_retry, name="job_retry"),
]
