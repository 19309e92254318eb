"""A question with its answer as somebody typed it, cleaned and checked when it is made."""

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from ingestion.faq.folding import fold
from kb_platform.errors import InvalidInput

MAX_QUESTION, MAX_ANSWER, MAX_PHRASINGS = 300, 10_000, 20
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_MANY_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDraft:
    """question: one line. phrasings: other wordings of it, without those that are it. owner_email: "" for whoever writes it.

    Raises InvalidInput naming `question`, `answer` or `phrasings`.
    """

    question: str
    answer: str
    phrasings: tuple[str, ...] = ()
    owner_email: str = ""

    def __post_init__(self) -> None:
        question, wrong = _line(self.question), {}
        if not fold(question):
            wrong["question"] = _("Write the question.")
        elif len(question) > MAX_QUESTION:
            wrong["question"] = _("At most %(limit)d characters.") % {"limit": MAX_QUESTION}
        answer = _text(self.answer)
        if not any(character.isalnum() for character in answer):
            wrong["answer"] = _("Write the answer.")
        elif len(answer) > MAX_ANSWER:
            wrong["answer"] = _("At most %(limit)d characters.") % {"limit": MAX_ANSWER}
        phrasings = _distinct(question, self.phrasings)
        if len(phrasings) > MAX_PHRASINGS or any(len(text) > MAX_QUESTION for text in phrasings):
            limits = {"most": MAX_PHRASINGS, "limit": MAX_QUESTION}
            wrong["phrasings"] = _("At most %(most)d wordings of %(limit)d characters each.") % limits
        if wrong:
            raise InvalidInput(fields=wrong)
        object.__setattr__(self, "question", question)
        object.__setattr__(self, "answer", answer)
        object.__setattr__(self, "phrasings", phrasings)
        object.__setattr__(self, "owner_email", _line(self.owner_email).lower())

    @property
    def wordings(self) -> tuple[str, ...]:
        """The question and its other wordings."""
        return (self.question, *self.phrasings)


def _line(text: str) -> str:
    return " ".join(_UNSTORABLE.sub("", text).split())


def _text(text: str) -> str:
    lines = _UNSTORABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
    return _MANY_BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()


def _distinct(question: str, phrasings: tuple[str, ...]) -> tuple[str, ...]:
    """Wordings that are spelled differently enough to matter, each once, in their order."""
    kept: dict[str, str] = {}
    for text in map(_line, phrasings):
        folded = fold(text)
        if folded and folded != fold(question):
            kept.setdefault(folded, text)
    return tuple(kept.values())
