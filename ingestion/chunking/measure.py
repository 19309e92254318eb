"""Token counts in batches, and the line of title and heading path that is embedded before each body."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ingestion.chunking.atoms import Atom, Lead, cut_atom
from ingestion.chunking.drafts import TokenCounter

_BATCH_TEXTS = 512
_BATCH_CHARACTERS = 200_000
_NEVER_COUNTED = 4_000  # characters; a longer atom is cut without asking
_FIRST_CUT = 240  # characters
_PART_CHARACTERS = 120
_SEPARATOR = " > "

Path = tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Measure:
    """Sizes of one document's texts. `limit` is the most tokens that an embedding text may have."""

    counter: TokenCounter
    title: str
    limit: int
    overhead: int = 0
    contexts: dict[Path, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.overhead = self.counter.count_tokens_batch([""])[0]

    def count(self, texts: Sequence[str]) -> list[int]:
        """The counter's own counts, prefix and special tokens included."""
        return [count for batch in _batches(texts) for count in self.counter.count_tokens_batch(batch)]

    def prepare(self, paths: Iterable[Path]) -> None:
        """Make the context lines of paths and of all that lie above them."""
        wanted = dict.fromkeys(path[:depth] for path in paths for depth in range(len(path) + 1))
        lines = [_line(self.title, path) for path in wanted]
        for path, line, tokens in zip(wanted, lines, self.count(lines), strict=True):
            self.contexts[path] = (line, tokens) if tokens <= self.limit // 3 else self._short_context(path)

    def _short_context(self, path: Path) -> tuple[str, int]:
        """A context line that leaves two thirds of the room to the body: last heading and title, shortened."""
        for characters in (_PART_CHARACTERS, 40, 12):
            line = _line(self.title, path[-1:], characters)
            tokens = self.count([line])[0]
            if tokens <= self.limit // 3:
                return line, tokens
        return "", self.overhead

    def room(self, path: Path) -> int:
        """Tokens left to the body below the context line of a path."""
        return self.limit - self.contexts[path][1] - 1

    def embedding_text(self, path: Path, body: str) -> str:
        line = self.contexts[path][0]
        return f"{line}\n{body}" if line else body

    def measured(self, atoms: Sequence[Atom]) -> list[Atom]:
        """The atoms with their counts; those that no chunk can hold are cut until one can."""
        done = self._counted(atoms)
        while any(self._is_too_long(atom) for atom in done):
            longest = {id(atom): _next_length(atom) for atom in done if self._is_too_long(atom)}
            pieces = [
                piece
                for atom in done
                for piece in (cut_atom(atom, longest[id(atom)]) if id(atom) in longest else [atom])
            ]
            done = self._counted(pieces)
        return done

    def _is_too_long(self, atom: Atom) -> bool:
        lead = atom.lead.tokens if atom.lead else 0
        return len(atom.text) > 1 and atom.tokens + lead > self.room(atom.path)

    def _counted(self, atoms: Sequence[Atom]) -> list[Atom]:
        leads = self._counted_leads(atoms)
        texts = {atom.text for atom in atoms if not atom.tokens and len(atom.text) <= _NEVER_COUNTED}
        ordered = sorted(texts)
        sizes = dict(zip(ordered, self.count(ordered), strict=True))
        return [
            replace(
                atom,
                tokens=atom.tokens or max(1, sizes.get(atom.text, _NEVER_COUNTED) - self.overhead),
                lead=leads.get(atom.lead.text) if atom.lead else None,
            )
            for atom in atoms
        ]

    def _counted_leads(self, atoms: Sequence[Atom]) -> dict[str, Lead]:
        """Counted leads by their text, cut to a quarter of the room."""
        raw = list(dict.fromkeys(atom.lead.text for atom in atoms if atom.lead))
        leads = {text: text[: 8 * self.limit] for text in raw}
        while True:
            sizes = dict(zip(leads, self.count(list(leads.values())), strict=True))
            long = [text for text, size in sizes.items() if size - self.overhead > self.limit // 4]
            if not long:
                return {text: Lead(text=leads[text], tokens=sizes[text] - self.overhead + 1) for text in raw}
            for text in long:
                leads[text] = leads[text][: len(leads[text]) // 2]


def _next_length(atom: Atom) -> int:
    return _FIRST_CUT if len(atom.text) > _FIRST_CUT else max(1, len(atom.text) // 2)


def _line(title: str, path: Path, characters: int = _PART_CHARACTERS) -> str:
    parts = [" ".join(part.split()) for part in (title, *path)]
    if len(parts) > 1 and parts[0] == parts[1]:
        parts = parts[1:]
    return _SEPARATOR.join(part[:characters].rstrip() for part in parts if part)


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Batches that keep the tokenizer's memory small."""
    start = characters = 0
    for end, text in enumerate(texts):
        characters += len(text)
        if end > start and (end - start >= _BATCH_TEXTS or characters > _BATCH_CHARACTERS):
            yield texts[start:end]
            start, characters = end, len(text)
    if start < len(texts):
        yield texts[start:]
