"""Things hidden from everybody but their maker, for the test over all routes."""

from accounts.tests.hidden_objects import somebody
from ingestion.tests.hidden_objects import collection, document
from retrieval.models import CasePassage, Conversation, EvaluationCase, Message, SearchTrace


def conversation():
    return Conversation.objects.create(user=somebody(), title="About the merger")


def message():
    return Message.objects.create(conversation=conversation(), question="When?", answer="In May.")


def trace():
    return SearchTrace.objects.create(
        trace_id="0123456789abcdef" * 2, user=somebody(), query="merger", mode="hybrid", generation=1
    )


def case():
    hidden = document()
    made = EvaluationCase.objects.create(
        question="merger", language="en", kind="exact", created_by=hidden.collection.created_by
    )
    CasePassage.objects.create(
        case=made,
        document=hidden,
        version=hidden.latest_version,
        first_element=0,
        last_element=0,
        quote="In May.",
    )
    return made


HIDDEN = {
    "library": lambda: str(collection().uid),
    "d": lambda: str(document().uid),
    "c": lambda: str(conversation().uid),
    "conversations": lambda: str(conversation().uid),
    "m": lambda: str(message().uid),
    "messages": lambda: str(message().uid),
    "traces": lambda: trace().trace_id,
    "debugger": lambda: trace().trace_id,
    "cases": lambda: str(case().uid),
}
