"""Things hidden from everybody but their maker, for the test over all routes."""

from accounts.principals import principal_of
from accounts.tests.hidden_objects import somebody
from ingestion.bulk import archive_documents, delete_documents
from ingestion.faq.services import add_pair
from ingestion.faq.values import PairDraft
from ingestion.models import DictionaryStopWord, DictionarySynonym, DictionaryTerm
from ingestion.selectors import documents_for
from ingestion.services import create_collection
from ingestion.testing.rows import make_document
from ingestion.uploads import open_batch


def collection():
    return create_collection(actor=principal_of(somebody()), name="Mergers")


def document():
    return make_document(collection(), title="Merger plan")


def batch():
    made = collection()
    return open_batch(actor=principal_of(made.created_by), collection=made)


def change():
    made = document()
    who = principal_of(made.collection.created_by)
    return archive_documents(actor=who, documents=documents_for(who)).change


def trashed():
    made = document()
    who = principal_of(made.collection.created_by)
    delete_documents(actor=who, documents=documents_for(who))
    return made


def faq_pair():
    made = collection()
    draft = PairDraft(question="Who buys us?", answer="Nobody yet.")
    return add_pair(actor=principal_of(made.created_by), collection=made, draft=draft)


def term():
    return DictionaryTerm.objects.create(collection=collection(), text="Merger", key="merger")


def synonyms():
    words = ["merger", "fusion"]
    return DictionarySynonym.objects.create(collection=collection(), phrases=words, keys=words)


def stop_word():
    return DictionaryStopWord.objects.create(collection=collection(), text="Merger", key="merger")


HIDDEN = {
    "faq": lambda: str(faq_pair().uid),
    "terms": lambda: str(term().uid),
    "synonyms": lambda: str(synonyms().uid),
    "stopwords": lambda: str(stop_word().uid),
    "trash": lambda: str(trashed().uid),
    "uploads": lambda: str(batch().uid),
    "changes": lambda: str(change().uid),
    "collections": lambda: str(collection().uid),
    "documents": lambda: str(document().uid),
    "jobs": lambda: str(document().latest_version.job.uid),
}
