"""Pages of retrieval."""

from django.urls import path

from retrieval.views import source

urlpatterns = [
    path("d/<str:uid>", source.source, name="source"),
    path("d/<str:uid>/p/<int:page>", source.source, name="source_page"),
]
