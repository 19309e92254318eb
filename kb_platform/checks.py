"""System checks: a relation between parts that must hold before the site starts."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from kb_platform.policies import routes


@register()
def every_route_has_a_policy(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    return [
        Error(
            f"/{route.pattern} declares no access policy",
            hint="Add @policy(...) from kb_platform.policies.",
            id="kb.E001",
        )
        for route in routes()
        if route.policy is None
    ]
