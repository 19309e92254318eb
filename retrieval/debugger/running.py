"""Runs of the debugger. Each leaves a trace of its own; one made as somebody else is in the audit log before it begins."""

from dataclasses import replace

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from kb_platform import audit
from kb_platform.errors import Unavailable
from kb_platform.trace import new_trace_id
from retrieval.debugger.asking import Asked
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.search_settings import SearchSettings, current
from retrieval.tracing import Replay


def run(asked: Asked, *, principal: Principal) -> str:
    """Search once; the id of the trace. Raises what the search raises."""
    return _search(asked, asked.settings(current()), principal)


def compare(asked: Asked, *, principal: Principal) -> tuple[str, str]:
    """The same question with the settings of everybody, and with those asked for; the ids of both traces."""
    plain = replace(asked, changed={})
    return run(plain, principal=principal), run(asked, principal=principal)


def _search(asked: Asked, settings: SearchSettings, principal: Principal) -> str:
    replay = Replay(
        trace_id=new_trace_id(),
        owner=principal,
        changed=tuple(asked.changed),
        is_partly_hidden=_sees_more(asked.person, principal),
    )
    if asked.person.user_id != principal.user_id:
        with transaction.atomic():
            audit.record(principal, "search.run_as", User.objects.get(pk=asked.person.user_id))
    request = replace(asked.request, settings=settings)
    search(request, principal=asked.person, generation=asked.generation, replay=replay)
    if not SearchTrace.objects.filter(trace_id=replay.trace_id).exists():
        raise Unavailable(_("The run could not be recorded. Try again."))
    return replay.trace_id


def _sees_more(person: Principal, principal: Principal) -> bool:
    return not set(visible_scopes(person)) <= set(visible_scopes(principal))
