"""System checks: a relation between parts that must hold before the site starts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from kb_platform.policies import routes
from kb_platform.runtime_config.declarations import SETTINGS


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


@register()
def locked_settings_are_valid(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    for name, text in settings.RUNTIME_OVERRIDES.items():
        try:
            SETTINGS[name].from_environment(text)
        except KeyError:
            found.append(Error(f"the environment sets {name}, which is no setting", id="kb.E002"))
        except ValueError as error:
            found.append(Error(f"the environment sets {name} to {text!r}: {error}", id="kb.E003"))
    return found
