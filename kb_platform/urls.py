"""All routes. Apps are wired here by dotted name."""

from csp.decorators import csp_update
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from kb_platform import health
from kb_platform.policies import Access, policy
from kb_platform.runtime_config import views as configuration

api_docs = csp_update({"img-src": "data:"})(  # its style sheet draws its icons so
    SpectacularSwaggerView.as_view(url_name="schema")
)

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
    path(
        "api/docs",
        policy(Access.SIGNED_IN)(api_docs),
        name="api_docs",
    ),
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
