"""The brake on a flood: whoever has enough files waiting is asked to send the next ones later. Others go on."""

from django.utils.translation import gettext as _

from accounts.values import Principal
from ingestion.models import IngestJob
from kb_platform.errors import TooMany
from kb_platform.runtime_config import store as configuration
from kb_platform.runtime_config.declarations import MOST_WAITING


def require_place(actor: Principal) -> None:
    """Raises TooMany while the actor has as many unfinished files as one person may have."""
    most = configuration.get(MOST_WAITING)
    if not most:
        return
    unfinished = IngestJob.objects.filter(ended_at=None, person=actor.user_id)
    if unfinished[:most].count() == most:
        text = _(
            "%(most)s of your files are still being processed. This one was not taken; send it again once some are done."
        )
        raise TooMany(text % {"most": f"{most:,}"}, code="queue_full")
