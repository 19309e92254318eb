"""Keeping external sources: made, changed, switched and removed by administrators, each change in the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from kb_platform.audit import Actor, record
from kb_platform.errors import InvalidInput
from kb_platform.json_values import is_storable
from kb_platform.sealing import seal
from retrieval.channels.external.values import SourceKind
from retrieval.sources.models import ExternalSource, SourceAccess
from retrieval.sources.options import NEEDS_SECRET, OPTIONS, clean_options, obeys_limits

MOST_VALUES, MOST_SECRET = 100, 1000
NUMBERS = {"try_ms": (50, 20_000), "total_ms": (50, 30_000), "tries": (1, 3), "concurrency": (1, 32)}
DEFAULTS = {"try_ms": 1500, "total_ms": 3000, "tries": 2, "concurrency": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInput:
    """A source as an administrator wants it. secret: in clear; None keeps the stored one, "" removes it.

    access: group ids with the values of the filter field that its members are limited to; none: no limit.
    """

    name: str
    kind: SourceKind
    options: Mapping[str, object]
    secret: str | None = field(default=None, repr=False)
    filter_field: str = ""
    access: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    try_ms: int = DEFAULTS["try_ms"]
    total_ms: int = DEFAULTS["total_ms"]
    tries: int = DEFAULTS["tries"]
    concurrency: int = DEFAULTS["concurrency"]


@transaction.atomic
def create_source(*, actor: Actor, wanted: SourceInput) -> ExternalSource:
    """Raises InvalidInput that names what cannot be used."""
    source = ExternalSource(kind=wanted.kind.value)
    _apply(source, wanted)
    record(actor, "source.created", source, kind=source.kind, **_told(source))
    return source


@transaction.atomic
def update_source(*, actor: Actor, source: ExternalSource, wanted: SourceInput) -> ExternalSource:
    """The kind stays as it is. Raises InvalidInput."""
    locked = ExternalSource.objects.select_for_update().get(pk=source.pk)
    before = _told(locked)
    _apply(locked, wanted)
    record(
        actor,
        "source.updated",
        locked,
        before=before,
        after=_told(locked),
        **({"secret": _("changed")} if wanted.secret else {}),
    )
    return locked


@transaction.atomic
def switch_source(*, actor: Actor, source: ExternalSource, is_active: bool) -> None:
    locked = ExternalSource.objects.select_for_update().get(pk=source.pk)
    if locked.is_active != is_active:
        locked.is_active = is_active
        locked.save(update_fields=["is_active"])
        record(actor, "source.switched_on" if is_active else "source.switched_off", locked)


@transaction.atomic
def delete_source(*, actor: Actor, source: ExternalSource) -> None:
    """Answers that cite it are withdrawn."""
    record(actor, "source.deleted", source, kind=source.kind)
    source.delete()


def for_form(error: InvalidInput) -> InvalidInput:
    """The refusal with options named as the form names them."""
    options = {option.name for some in OPTIONS.values() for option in some}
    named = {f"option.{name}" if name in options else name: text for name, text in error.fields.items()}
    return InvalidInput(fields=named)


def _apply(source: ExternalSource, wanted: SourceInput) -> None:
    kind = SourceKind(source.kind)
    problems: dict[str, StrOrPromise] = {}
    try:
        options = clean_options(kind, wanted.options)
    except InvalidInput as error:
        options, problems = {}, dict(error.fields)
    problems |= _faults(source, wanted, kind, options)
    if problems:
        raise InvalidInput(fields=problems)
    source.name, source.options = wanted.name.strip(), options
    source.filter_field = wanted.filter_field.strip()
    if wanted.secret is not None:
        source.secret = seal(wanted.secret)
    for name in NUMBERS:
        setattr(source, name, getattr(wanted, name))
    source.save()
    SourceAccess.objects.filter(source=source).delete()
    SourceAccess.objects.bulk_create(
        SourceAccess(source=source, group_id=group, values=list(values))
        for group, values in sorted(wanted.access.items())
    )


def _faults(
    source: ExternalSource, wanted: SourceInput, kind: SourceKind, options: Mapping[str, str]
) -> dict[str, StrOrPromise]:
    problems: dict[str, StrOrPromise] = {}
    name = wanted.name.strip()
    if not name or len(name) > 100 or not is_storable(name):
        problems["name"] = _("Give the source a name of at most 100 characters.")
    elif ExternalSource.objects.filter(name=name).exclude(pk=source.pk).exists():
        problems["name"] = _("Another source has this name.")
    for number, (low, high) in NUMBERS.items():
        if not low <= getattr(wanted, number) <= high:
            problems[number] = _("From %(low)s to %(high)s.") % {"low": f"{low:,}", "high": f"{high:,}"}
    if problem := _secret_fault(source, wanted, kind, options):
        problems["secret"] = problem
    if problem := _access_fault(wanted, kind, options):
        problems["access"] = problem
    return problems


def _secret_fault(
    source: ExternalSource, wanted: SourceInput, kind: SourceKind, options: Mapping[str, str]
) -> str:
    secret = wanted.secret
    if secret and (len(secret) > MOST_SECRET or not (secret.isascii() and secret.isprintable())):
        return _("A key has at most %(most)d plain characters.") % {"most": MOST_SECRET}
    if kind in NEEDS_SECRET and not secret and (secret is not None or not source.secret):
        return _("This role needs its password.")
    if kind is SourceKind.SQL and options and _is_main_role(options, secret):
        return _("These are the credentials of this site’s own database. Give a role of its own.")
    if secret is None and source.secret and options and _leads_elsewhere(source, options):
        return _("The source leads to another server now. Enter its key again.")
    return ""


def _is_main_role(options: Mapping[str, str], secret: str | None) -> bool:
    main = settings.DATABASES["default"]
    same_role = options["user"] == main.get("USER") and options["database"] == main.get("NAME")
    return same_role or bool(secret and secret == main.get("PASSWORD"))


def _leads_elsewhere(source: ExternalSource, options: Mapping[str, str]) -> bool:
    """A stored key is not sent to a server that somebody else names."""
    return any(
        source.options.get(name) != options.get(name) for name in ("url", "host", "port", "user", "username")
    )


def _access_fault(wanted: SourceInput, kind: SourceKind, options: Mapping[str, str]) -> str:
    groups = set(wanted.access)
    if Group.objects.filter(pk__in=groups).count() != len(groups):
        return _("One of the groups does not exist any more.")
    values = [value for some in wanted.access.values() for value in some]
    if any(len(value) > 200 or not is_storable(value) for value in values) or len(values) > MOST_VALUES:
        return _("At most %(most)d values of at most 200 characters.") % {"most": MOST_VALUES}
    if values and not wanted.filter_field.strip():
        return _("Name the field of a record that these values stand in.")
    if values and options and not obeys_limits(kind, options):
        return _("To limit a group, the statement must use %%(allowed)s.") % {}
    return ""


def _told(source: ExternalSource) -> dict[str, Any]:
    """What the audit log tells of it; no secret."""
    access = {
        row.group.name: list(row.values) for row in source.access.select_related("group").order_by("pk")
    }
    numbers = {name: getattr(source, name) for name in NUMBERS}
    return {
        "name": source.name, "options": dict(source.options), "filter_field": source.filter_field, "access": access, **numbers,
    }  # fmt: skip
