"""A document and what is below it: the files inside its file. They have its collection and its scope at every moment.

Whoever changes where a document stands, or who sees it, calls this in the same transaction, with the document locked.
What is below it is locked level by level before the next one is looked for: a file that is just being read may get
documents below it, which needs its own lock, so none comes to be unseen. What is in the trash is brought along by the scope
that it would return to.
"""

from collections.abc import Collection as Keys

from django.utils import timezone

from accounts.models import AccessScope
from ingestion.dictionary import recutting
from ingestion.models import Collection, Document, ScopeMove

MAX_DEPTH = 5


def below(keys: Keys[int], *, locked: bool = False) -> list[int]:
    """The numbers of all documents below these, those in the trash included; a parent's comes before its children's.

    locked: lock each level before the next one is looked for, which needs these documents locked; nothing can come to be
    below them then until the transaction ends.
    """
    rows = Document.objects.select_for_update(of=("self",)) if locked else Document.objects.all()
    found: list[int] = []
    level = list(keys)
    while level:
        level = list(rows.filter(parent__in=level).order_by("pk").values_list("pk", flat=True))
        found += level
    return found


def above(document: Document) -> list[Document]:
    """The documents that hold this one, the outermost first."""
    found: list[Document] = []
    parent = document.parent
    while parent is not None:
        found.insert(0, parent)
        parent = parent.parent
    return found


def move(keys: Keys[int], collection: Collection) -> None:
    """Bring what is below these documents into their new collection."""
    if inside := below(keys, locked=True):
        Document.objects.filter(pk__in=inside).update(collection=collection, updated_at=timezone.now())
    recutting.follow_moved([*keys, *inside])


def change_scope(keys: Keys[int], scope: AccessScope) -> bool:
    """Bring what is below these documents into their new scope; whether index rows have to follow."""
    inside = Document.objects.filter(pk__in=below(keys, locked=True))
    inside.filter(trashed_from__isnull=False).update(trashed_from=scope)
    followers = list(inside.filter(trashed_from=None).values_list("pk", flat=True))
    Document.objects.filter(pk__in=followers).update(scope=scope, updated_at=timezone.now())
    ScopeMove.objects.bulk_create(
        [ScopeMove(document_id=key) for key in followers], ignore_conflicts=True, batch_size=1000
    )
    return bool(followers)
