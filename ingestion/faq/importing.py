"""Pairs from a CSV file: read in whatever encoding, looked at line by line, and written only after that.

Columns: question, answer, owner (an e-mail address), and any further ones that are other wordings. Their names may be English
or Chinese; without names the order is question, answer, further wordings. The same question again changes its pair.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.permissions.visibility import require
from accounts.values import Permission, Principal
from ingestion import turns
from ingestion.faq import services
from ingestion.faq.folding import fold
from ingestion.faq.selectors import phrasings_of
from ingestion.faq.values import PairDraft
from ingestion.models import Collection, FaqImport, FaqPair
from ingestion.parsing.encodings import decode
from ingestion.selectors import parse_uid
from ingestion.values import clean_name
from kb_platform.errors import InvalidInput, KnowledgeBaseError, NotFound

MAX_BYTES, MAX_ROWS, MAX_CELL = 5_000_000, 500, 20_000  # written within one request
KEPT = timedelta(days=1)  # how long a file that was read waits to be taken over
_DELIMITERS = ",;\t|"
_ROLES = {
    "question": ("question", "q", "问题", "問題", "问", "提问", "标准问题", "标准问"),
    "answer": ("answer", "a", "reply", "回答", "答案", "答", "答复", "标准答案"),
    "owner": ("owner", "e-mail", "email", "mail", "负责人", "負責人", "所有者", "邮箱", "负责人邮箱", "owner e-mail", "owner email"),
}  # fmt: skip


class Action:
    ADD, CHANGE, SAME, REFUSED = "add", "change", "same", "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of a file. number: its line in the file, from 1. refusal: why it cannot be taken; "" for one that can."""

    number: int
    question: str
    answer: str
    phrasings: tuple[str, ...] = ()
    owner_email: str = ""
    action: str = Action.ADD
    refusal: str = ""

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Line":
        return cls(**{**stored, "phrasings": tuple(stored["phrasings"])})

    def draft(self) -> PairDraft:
        return PairDraft(
            question=self.question,
            answer=self.answer,
            phrasings=self.phrasings,
            owner_email=self.owner_email,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How many pairs were added, changed, were the same already, and could not be taken."""

    added: int = 0
    changed: int = 0
    same: int = 0
    refused: int = 0


def read_file(*, actor: Principal, collection: Collection, name: str, data: bytes) -> FaqImport:
    """Keep what a file says, each line with what taking it over would do. Nothing else is written.

    Raises InvalidInput naming `file` for one that is too large, empty, or no table with questions and answers.
    """
    require(actor, Permission.CONTRIBUTE, collection.scope_id)
    if len(data) > MAX_BYTES:
        raise _unusable(
            _("The file may have up to %(size)d MB. Split it.") % {"size": MAX_BYTES // 1_000_000}
        )
    decoded = decode(data)
    if decoded.lossy:
        raise _unusable(_("The file’s characters cannot be read. Save it as CSV UTF-8 and choose it again."))
    lines = _lines(decoded.text.lstrip("\ufeff").replace("\x00", ""))
    return FaqImport.objects.create(
        collection=collection,
        user_id=actor.user_id,
        file_name=clean_name(name)[:255],
        encoding=decoded.encoding,
        rows=[asdict(line) for line in _judged(actor, collection, lines)],
    )


def get_import(principal: Principal, uid: str) -> FaqImport:
    """A file that the principal itself read, into a collection that it may still contribute to. Raises NotFound."""
    rows = FaqImport.objects.select_related("collection")
    found = rows.filter(uid=parse_uid(uid), user_id=principal.user_id).first()
    if found is None:
        raise NotFound()
    require(principal, Permission.CONTRIBUTE, found.collection.scope_id)
    return found


def lines_of(kept: FaqImport) -> list[Line]:
    return [Line.from_json(row) for row in kept.rows]


def forecast(lines: Sequence[Line]) -> Outcome:
    """What taking them over would come to."""
    return _outcome(Counter(line.action for line in lines))


@transaction.atomic
def take_over(*, actor: Principal, kept: FaqImport) -> Outcome:
    """Write what can be taken of a file; lines are judged again, because others may have written meanwhile."""
    require(actor, Permission.CONTRIBUTE, kept.collection.scope_id)
    counts: Counter[str] = Counter()
    lines = _judged(actor, kept.collection, lines_of(kept))
    priority = turns.priority_for(actor.user_id, is_bulk=len(lines) > turns.SMALL_BATCH)
    for line in lines:
        counts[_write(actor, kept.collection, line, priority)] += 1
    kept.delete()
    return _outcome(counts)


def _outcome(counts: "Counter[str]") -> Outcome:
    return Outcome(
        added=counts[Action.ADD],
        changed=counts[Action.CHANGE],
        same=counts[Action.SAME],
        refused=counts[Action.REFUSED],
    )


def _write(actor: Principal, collection: Collection, line: Line, priority: int) -> str:
    if line.action in (Action.SAME, Action.REFUSED):
        return line.action
    draft = line.draft()
    try:
        with transaction.atomic():
            if pair := _asked_by(actor, collection, line.question):
                services.change_pair(
                    actor=actor, pair=pair, draft=_kept_wordings(pair, draft), priority=priority
                )
            else:
                services.add_pair(actor=actor, collection=collection, draft=draft, priority=priority)
    except KnowledgeBaseError:
        return Action.REFUSED
    return line.action


def forget_old() -> None:
    """Remove files that nobody took over."""
    FaqImport.objects.filter(created_at__lt=timezone.now() - KEPT).delete()


# --- reading the file ---------------------------------------------------------------------------------------


def _lines(text: str) -> list[Line]:
    rows = _rows(text)
    if not rows:
        raise _unusable(_("There are no rows in the file."))
    named = _columns(rows[0][1])
    columns = named or {"question": 0, "answer": 1, "owner": -1}
    rows = rows[1:] if named else rows
    if not rows:
        raise _unusable(_("There are no rows in the file."))
    if len(rows) > MAX_ROWS:
        raise _unusable(_("At most %(most)d rows in one file. Split it.") % {"most": MAX_ROWS})
    if all(len(row) < 2 for _number, row in rows):
        raise _unusable(_("The file needs at least two columns: question and answer."))
    return [_line(number, row, columns) for number, row in rows]


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Rows that say something, each with the number of the line where it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    rows, begins = [], 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((begins, row))
            begins = reader.line_num + 1
    except csv.Error as error:
        reason = _("Line %(line)d cannot be read as CSV: a quotation mark is missing or one too many.")
        raise _unusable(reason % {"line": begins}) from error
    return rows


def _delimiter(text: str) -> str:
    """What stands most often in the first line outside of quotes."""
    first = "".join(text.lstrip().split("\n", 1)[0].split('"')[::2])
    return max(_DELIMITERS, key=lambda mark: (first.count(mark), -_DELIMITERS.index(mark)))


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Where question, answer and owner stand, by the names of the columns; nothing if they are no names."""
    names = [" ".join(name.split()).casefold().strip(" :：*") for name in header]
    found = {
        role: next((place for place, name in enumerate(names) if name in known), -1)
        for role, known in _ROLES.items()
    }
    if found["question"] < 0 and found["answer"] < 0:
        return {}
    for role, label in (("question", _("question")), ("answer", _("answer"))):
        if found[role] < 0:
            raise _unusable(_("No column is called “%(name)s”.") % {"name": label})
    return found


def _line(number: int, row: Sequence[str], columns: dict[str, int]) -> Line:
    def cell(place: int) -> str:
        return row[place].strip()[:MAX_CELL] if 0 <= place < len(row) else ""

    further = [place for place in range(len(row)) if place not in columns.values()]
    return Line(
        number=number,
        question=cell(columns["question"]),
        answer=cell(columns["answer"]),
        phrasings=tuple(text for place in further for text in cell(place).split("\n") if text.strip()),
        owner_email=cell(columns["owner"]),
    )


# --- judging lines ------------------------------------------------------------------------------------------


def _judged(actor: Principal, collection: Collection, lines: Sequence[Line]) -> list[Line]:
    """Each line with what it would do."""
    seen: dict[str, int] = {}
    owners: dict[str, str] = {}
    judged = []
    for line in lines:
        action, refusal = _judge(actor, collection, line, seen, owners)
        judged.append(
            Line(**{**asdict(line), "phrasings": line.phrasings, "action": action, "refusal": refusal})
        )
    return judged


def _judge(
    actor: Principal, collection: Collection, line: Line, seen: dict[str, int], owners: dict[str, str]
) -> tuple[str, str]:
    """What a line does, and why it cannot."""
    try:
        draft = line.draft()
        own = _asked_by(actor, collection, draft.question)
        whole = _kept_wordings(own, draft) if own else draft
    except InvalidInput as error:
        names = {"question": _("Question"), "answer": _("Answer"), "phrasings": _("Other wordings")}
        told = (
            _("%(field)s: %(value)s") % {"field": names[name], "value": text}
            for name, text in error.fields.items()
        )
        return Action.REFUSED, " ".join(told)
    earlier = [seen[key] for key in map(fold, draft.wordings) if key in seen]
    if earlier:
        return Action.REFUSED, _("Line %(line)d asks the same.") % {"line": earlier[0]}
    if refusal := _owner_refusal(draft, collection, owners):
        return Action.REFUSED, refusal
    others = [pair for pair in services.pairs_asking(actor, collection, draft.wordings) if pair != own]
    if others:
        return Action.REFUSED, _("A wording is that of “%(question)s” already.") % {"question": others[0]}
    seen.update(dict.fromkeys(map(fold, draft.wordings), line.number))
    if own is None:
        return Action.ADD, ""
    return (Action.SAME if _says_it(own, whole) else Action.CHANGE), ""


def _owner_refusal(draft: PairDraft, collection: Collection, owners: dict[str, str]) -> str:
    """Why the owner cannot be one; each address is looked up once."""
    if draft.owner_email not in owners:
        try:
            services.owner_of(draft, collection.scope_id)
            owners[draft.owner_email] = ""
        except InvalidInput as error:
            owners[draft.owner_email] = str(error)
    return owners[draft.owner_email]


def _asked_by(actor: Principal, collection: Collection, question: str) -> FaqPair | None:
    """The pair that a question belongs to, as its own or as another wording."""
    return next(iter(services.pairs_asking(actor, collection, [question])), None)


def _kept_wordings(pair: FaqPair, draft: PairDraft) -> PairDraft:
    """The draft with the wordings that the pair has besides: a file takes none away, and asks by any of them."""
    is_its_own = fold(draft.question) == fold(pair.question)
    return PairDraft(
        question=draft.question if is_its_own else pair.question,
        answer=draft.answer,
        phrasings=(draft.question, *draft.phrasings, *phrasings_of(pair)),
        owner_email=draft.owner_email,
    )


def _says_it(pair: FaqPair, draft: PairDraft) -> bool:
    is_owner = not draft.owner_email or bool(
        pair.document.owner and pair.document.owner.email == draft.owner_email
    )
    same_words = (pair.question, pair.answer) == (draft.question, draft.answer)
    return same_words and is_owner and sorted(phrasings_of(pair)) == sorted(draft.phrasings)


def _unusable(reason: str) -> InvalidInput:
    return InvalidInput(reason, fields={"file": reason})


ACTION_WORDS = {
    Action.ADD: gettext_lazy("New"),
    Action.CHANGE: gettext_lazy("Changes"),
    Action.SAME: gettext_lazy("Unchanged"),
    Action.REFUSED: gettext_lazy("Cannot be taken"),
}
