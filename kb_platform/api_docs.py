"""The API reference: Swagger UI under the site's own content policy, in its light and dark look.

Swagger's style sheet draws a few icons as `data:` images, which the policy refuses; it is served without them, with plain
signs in their place, and without the background that its dark look would give the whole page.
"""

import re
from functools import cache
from importlib.resources import files

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularSwaggerView

from kb_platform.policies import Access, policy

STYLES = "static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"
_DATA_IMAGE = re.compile(r"""url\((?:"data:(?:\\.|[^"\\])*"|'data:(?:\\.|[^'\\])*'|data:[^)]*)\)""")
_PAGE_RULE = re.compile(r"html\.dark-mode\{[^}]*\}")
_DARK_GROUND = re.compile(r"(html\.dark-mode \.swagger-ui\{)background:[^;}]*;")
SIGNS = """
.swagger-ui select{appearance:auto}
.swagger-ui .copy-to-clipboard button::before{content:"";display:inline-block;width:8px;height:10px;border:1.5px solid currentColor;border-radius:2px}
.swagger-ui .model-toggle::after{content:"›";display:inline-block}
.swagger-ui .checkbox input[type=checkbox]:checked+label>.item::after{content:"✓"}
"""

api_docs = policy(Access.SIGNED_IN)(SpectacularSwaggerView.as_view(url_name="schema"))


@cache
def styles() -> str:
    """Swagger's style sheet without images and without rules for the page around it."""
    text = files("drf_spectacular_sidecar").joinpath(STYLES).read_text(encoding="utf-8")
    return _DARK_GROUND.sub(r"\1", _PAGE_RULE.sub("", _DATA_IMAGE.sub("none", text))) + SIGNS


@policy(Access.SIGNED_IN)
@require_safe
def api_docs_css(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(styles(), content_type="text/css; charset=utf-8")
    response["Cache-Control"] = "private, max-age=86400"
    return response
