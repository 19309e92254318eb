"""What a change of access comes to, in sentences. Formatting only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.dateformat import format as format_date
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from accounts.permissions.plans import HolderChange, Terms
from accounts.values import Holder, HolderKind, Permission, StoredGrant
from ingestion.access import AccessPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLine:
    """`css` colours the icon: acc, bad or muted."""

    icon: str
    css: str
    title: str
    text: str = ""


def change_lines(planned: AccessPlan) -> list[ChangeLine]:
    """Who gains and loses sight first, then each entry that means something else, then what stays as it is."""
    lines = [*_sight(planned)]
    for change in planned.plan.changes:
        if line := _entry(change, planned):
            lines.append(line)
    if planned.untouched_count:
        title = ngettext(
            "%(n)d document is not affected", "%(n)d documents are not affected", planned.untouched_count
        ) % {"n": planned.untouched_count}
        text = _("They have lists of their own and do not follow the collection.")
        lines.append(ChangeLine(icon="lock", css="muted", title=title, text=text))
    return lines


def _sight(planned: AccessPlan) -> Iterable[ChangeLine]:
    if gaining := len(planned.plan.gaining):
        added = [change for change in planned.plan.changes if change.before is None]
        yield ChangeLine(icon="eye", css="acc", title=_gain_title(gaining, planned), text=_named(added))
    if losing := len(planned.plan.losing):
        gone = [change for change in planned.plan.changes if change.after is None]
        yield ChangeLine(icon="eye-off", css="bad", title=_loss_title(losing, planned), text=_named(gone))
    if planned.loses_own:
        yield ChangeLine(
            icon="alert-triangle",
            css="bad",
            title=_("You are among those who lose it"),
            text=_("You will not be able to take this back yourself."),
        )


def _gain_title(people: int, planned: AccessPlan) -> str:
    if not planned.document_count:
        return ngettext("%(n)d person gains access", "%(n)d people gain access", people) % {"n": people}
    return ngettext(
        "%(n)d person gains sight of %(documents)s", "%(n)d people gain sight of %(documents)s", people
    ) % {"n": people, "documents": documents_phrase(planned.document_count)}


def _loss_title(people: int, planned: AccessPlan) -> str:
    if not planned.document_count:
        return ngettext("%(n)d person loses access", "%(n)d people lose access", people) % {"n": people}
    return ngettext(
        "%(n)d person loses sight of %(documents)s", "%(n)d people lose sight of %(documents)s", people
    ) % {"n": people, "documents": documents_phrase(planned.document_count)}


def documents_phrase(count: int) -> str:
    return ngettext("%(n)d document", "%(n)d documents", count) % {"n": count}


def _named(changes: Sequence[HolderChange]) -> str:
    """Names with their ends, at most four."""
    parts = []
    for change in changes[:4]:
        end = change.after[1] if change.after else None
        parts.append(
            _("%(name)s, until %(day)s") % {"name": change.name, "day": day_text(end)} if end else change.name
        )
    if len(changes) > 4:
        parts.append("…")
    return " · ".join(parts)


def _entry(change: HolderChange, planned: AccessPlan) -> ChangeLine | None:
    if change.after is None:
        if planned.plan.losing:
            return None
        title = _("%(name)s is taken off the list") % {"name": change.name}
        return ChangeLine(icon="x", css="muted", title=title, text=_("Still seen through another entry."))
    before: Terms | None = change.before
    level, end = change.after
    if before is None and level is Permission.VIEW:
        if planned.plan.gaining:
            return None
        title = _("%(name)s is put on the list") % {"name": change.name}
        return ChangeLine(
            icon="plus", css="muted", title=title, text=_("Seen already through another entry.")
        )
    if before is None or before[0] != level:
        return ChangeLine(icon="pencil", css="acc", title=_level_title(change.name, level))
    title = (
        _("Access of %(name)s ends on %(day)s") % {"name": change.name, "day": day_text(end)}
        if end
        else _("Access of %(name)s no longer ends") % {"name": change.name}
    )
    return ChangeLine(icon="calendar", css="acc", title=title)


def _level_title(name: str, level: Permission) -> str:
    sentences = {
        Permission.VIEW: _("%(name)s may only view"),
        Permission.CONTRIBUTE: _("%(name)s may upload and edit"),
        Permission.MANAGE: _("%(name)s may share, move and delete"),
    }
    return sentences[level] % {"name": name}


def day_text(moment: datetime | None) -> str:
    if moment is None:
        return ""
    chinese = (get_language() or "").startswith("zh")
    return format_date(timezone.localtime(moment), "Y-m-d" if chinese else "j M Y")


def who_can_see(grants: Sequence[StoredGrant], *, everybody: Holder) -> str:
    """A list of grants in a few words, for a card. everybody: the group of all accounts."""
    if any(grant.holder == everybody for grant in grants):
        return _("All staff can view")
    crowds = [grant for grant in grants if grant.holder.kind is HolderKind.GROUP]
    persons = len(grants) - len(crowds)
    if len(crowds) == 1 and not persons:
        return crowds[0].name
    if len(crowds) == 1:
        told = ngettext("%(group)s and %(n)d person", "%(group)s and %(n)d people", persons)
        return told % {"group": crowds[0].name, "n": persons}
    if not crowds:
        return ngettext("%(n)d person", "%(n)d people", persons) % {"n": persons}
    groups_told = ngettext("%(n)d group", "%(n)d groups", len(crowds)) % {"n": len(crowds)}
    if not persons:
        return groups_told
    told = ngettext("%(groups)s and %(n)d person", "%(groups)s and %(n)d people", persons)
    return told % {"groups": groups_told, "n": persons}
