"""What a person wants to run: the form of the debugger, read and checked. Raises InvalidInput that names each field."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from accounts.permissions.visibility import visible_scopes
from accounts.principals import principal_of
from accounts.selectors import find_user, named_holders
from accounts.values import HolderKind, Permission, Principal
from ingestion.models import IndexGeneration
from kb_platform.errors import InvalidInput, NotAllowed
from retrieval.debugger.knobs import Knob, changes, read_knobs
from retrieval.filters import Filters, parse_filters
from retrieval.search_settings import SearchSettings, current
from retrieval.values import Mode, SearchRequest

RESULTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run as somebody wishes it. person: whose rights it is made with. changed: knobs for this run alone."""

    request: SearchRequest
    person: Principal
    generation: IndexGeneration | None = None
    changed: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, now: SearchSettings) -> SearchSettings:
        """Every step is really made, unless remembering rankings is what is being looked at."""
        return now.changed(**{"cache_seconds": 0} | dict(self.changed))


def require_debugging(principal: Principal) -> None:
    """For those who answer for what is found: administrators, and whoever manages something. Raises NotAllowed."""
    if not may_debug(principal):
        raise NotAllowed()


def may_debug(principal: Principal) -> bool:
    return principal.is_administrator or bool(visible_scopes(principal, at_least=Permission.MANAGE))


def read_asked(form: QueryDict, *, principal: Principal, knobs: list[Knob]) -> Asked:
    """The run that the form describes; `knobs` as `read_knobs` gave them."""
    problems = {knob.setting.name: knob.error for knob in knobs if knob.error}
    found: dict[str, Any] = {}
    readers: dict[str, Callable[[], Any]] = {
        "filters": lambda: read_conditions(form.get("conditions", ""), form.getlist("collection")),
        "person": lambda: _person(form.get("as", ""), principal),
        "generation": lambda: _generation(form.get("generation", "")),
        "text": lambda: SearchRequest(text=form.get("q", "")).text,
        "mode": lambda: _mode(form.get("mode", "")),
    }
    for name, read in readers.items():
        try:
            found[name] = read()
        except InvalidInput as error:
            problems |= {key: str(reason) for key, reason in error.fields.items()}
    if problems:
        raise InvalidInput(fields=problems)
    request = SearchRequest(text=found["text"], filters=found["filters"], mode=found["mode"], top_k=RESULTS)
    return Asked(
        request=request,
        person=found["person"],
        generation=found["generation"],
        changed=changes(knobs, form),
    )


def knobs_in(form: QueryDict) -> list[Knob]:
    return read_knobs(form, current())


def read_conditions(text: str, collections: list[str]) -> Filters:
    """JSON as the API takes it under `filters`, and collections beside it."""
    try:
        stated = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInput(fields={"conditions": _("This is no JSON object.")}) from error
    if not isinstance(stated, dict):
        raise InvalidInput(fields={"conditions": _("This is no JSON object.")})
    try:
        return parse_filters(stated, collections=[uid for uid in collections if uid] or None)
    except InvalidInput as error:
        sentence = " ".join(f"{name}: {reason}" for name, reason in error.fields.items())
        raise InvalidInput(fields={"conditions": sentence}) from error


def conditions_text(filters: Mapping[str, Any]) -> str:
    """Stored conditions, less the collections, as the form shows them."""
    rest = {name: value for name, value in filters.items() if name != "collections"}
    return json.dumps(rest, ensure_ascii=False) if rest else ""


def readable_generations() -> list[IndexGeneration]:
    """Those that are whole, the active one first."""
    rows = IndexGeneration.objects.exclude(state=IndexGeneration.State.BUILDING).order_by("-number")
    return sorted(rows, key=lambda one: one.state != IndexGeneration.State.ACTIVE)


def _mode(text: str) -> Mode:
    try:
        return Mode(text or Mode.HYBRID)
    except ValueError as error:
        raise InvalidInput(fields={"mode": _("Choose one of the values offered.")}) from error


def _generation(text: str) -> IndexGeneration | None:
    """None for the active one."""
    if not text:
        return None
    chosen = next((one for one in readable_generations() if str(one.number) == text), None)
    if chosen is None:
        raise InvalidInput(fields={"generation": _("Choose one of the values offered.")})
    return None if chosen.state == IndexGeneration.State.ACTIVE else chosen


def _person(text: str, principal: Principal) -> Principal:
    """Oneself, or for administrators anybody active, by e-mail address or full name. Raises NotAllowed for others."""
    text = text.strip()
    if not text or text.casefold() == principal.email.casefold():
        return principal
    if not principal.is_administrator:
        raise NotAllowed()
    found = [one for one in named_holders(text) if one.holder.kind is HolderKind.USER]
    by_address = [one for one in found if one.email == text.casefold()]
    chosen = by_address or found
    if len(chosen) != 1:
        problem = (
            _("Several people have this name; give the e-mail address.")
            if chosen
            else _("No active person has this name or address.")
        )
        raise InvalidInput(fields={"as": problem})
    person = principal_of(find_user(str(chosen[0].holder.id)))
    return principal if person.user_id == principal.user_id else person
