"""Things hidden from everybody but their maker, for the test over all routes."""

from accounts.principals import principal_of
from accounts.tests.hidden_objects import somebody
from ingestion.services import create_collection
from ingestion.testing.rows import make_document


def collection():
    return create_collection(actor=principal_of(somebody()), name="Mergers")


def document():
    return make_document(collection(), title="Merger plan")


HIDDEN = {
    "collections": lambda: str(collection().uid),
    "documents": lambda: str(document().uid),
    "jobs": lambda: str(document().latest_version.job.uid),
}
