"""All routes. Apps are wired here by dotted name."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from kb_platform import api_docs, health
from kb_platform.policies import Access, policy
from kb_platform.runtime_config import views as configuration

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("language", health.set_language, name="set_language"),
    path("theme", health.set_theme, name="set_theme"),
    path("system/settings", configuration.settings, name="settings"),
    path("system/settings/export", configuration.settings_export, name="settings_export"),
    path("system/settings/import", configuration.settings_import, name="settings_import"),
    path("system/settings/<str:area>", configuration.settings_area, name="settings_area"),
    path("api/schema", policy(Access.SIGNED_IN, scope="search")(SpectacularAPIView.as_view()), name="schema"),
    path("api/docs", api_docs.api_docs, name="api_docs"),
    path("api/docs.css", api_docs.api_docs_css, name="api_docs_css"),
    path("api/v1/", include("accounts.api_urls")),
    path("api/v1/", include("ingestion.api_urls")),
    path("api/v1/", include("retrieval.api_urls")),
    path("", include("accounts.urls")),
    path("", include("ingestion.urls")),
    path("", include("retrieval.urls")),
]

handler400 = "kb_platform.health.bad_request"
handler404 = "kb_platform.health.page_not_found"
handler500 = "kb_platform.health.server_error"
handler403 = "kb_platform.health.forbidden"
