"""The last rounds of a conversation, for understanding the next question: only what its reader may see now.

Every question is made to stand alone anew, out of answers that are open now. What is stored of earlier rewritings is
never read, so that nothing of a withdrawn answer gets into a new question.
"""

import re

from accounts.values import Principal
from retrieval.chat.selectors import last_messages
from retrieval.chat.values import Progress, ShownMessage
from retrieval.models import Conversation
from retrieval.query.followups import ROUNDS, stand_alone
from retrieval.query.values import Round

READ = 2 * ROUNDS  # messages: an earlier one may lean on those before it
MOST_ITEMS = 10
_ITEM = re.compile(r"^\s*(?:[-•*]|\d{1,2}[.)、])\s+(?P<text>.+)$", re.MULTILINE)
_MARKERS = re.compile(r"\s*\[\d{1,3}\]")


def rounds_of(principal: Principal, conversation: Conversation) -> tuple[Round, ...]:
    """Oldest first, at most ROUNDS. Raises NotFound for a conversation that is not one's own."""
    rounds: list[Round] = []
    for message in last_messages(principal, conversation, READ):
        rounds.append(_round(message, rounds))
    return tuple(rounds[-ROUNDS:])


def _round(message: ShownMessage, earlier: list[Round]) -> Round:
    rewriting = stand_alone(message.question, earlier)
    is_open = message.progress is Progress.COMPLETE and not message.withdrawn
    sources = {citation.document_uid: citation.title for citation in message.citations}
    return Round(
        question=rewriting.text if rewriting else message.question,
        items=tuple(_items(message.answer)) if is_open else (),
        sources=tuple(sources.items()) if is_open else (),
        carried=rewriting.sources if rewriting else (),
    )


def _items(answer: str) -> list[str]:
    return [_MARKERS.sub("", item["text"]).strip() for item in _ITEM.finditer(answer)][:MOST_ITEMS]
