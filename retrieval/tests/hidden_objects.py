"""Things hidden from everybody but their maker, for the test over all routes."""

from accounts.tests.hidden_objects import somebody
from ingestion.tests.hidden_objects import collection, document
from retrieval.models import Conversation, Message, SearchTrace


def conversation():
    return Conversation.objects.create(user=somebody(), title="About the merger")


def message():
    return Message.objects.create(conversation=conversation(), question="When?", answer="In May.")


def trace():
    return SearchTrace.objects.create(
        trace_id="0123456789abcdef" * 2, user=somebody(), query="merger", mode="hybrid", generation=1
    )


HIDDEN = {
    "library": lambda: str(collection().uid),
    "d": lambda: str(document().uid),
    "c": lambda: str(conversation().uid),
    "conversations": lambda: str(conversation().uid),
    "m": lambda: str(message().uid),
    "messages": lambda: str(message().uid),
    "traces": lambda: trace().trace_id,
}
