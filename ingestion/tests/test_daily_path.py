"""What costs most, embedding, is done once for each text, and for many files at a time; one file goes the same way."""

from ingestion import pipeline, tasks
from ingestion.models import Chunk, DocumentVersion
from ingestion.testing import use_embedder

SECTIONS = [
    f"## Section {number}\n\n" + f"Rule {number} holds in building {number}. " * 60 for number in range(8)
]


class CountingEmbedder:
    """Passes on to another one, and keeps what it was given: a list for each call."""

    def __init__(self, embedder):
        self._embedder, self.calls = embedder, []

    def __getattr__(self, name):
        return getattr(self._embedder, name)

    def embed_documents(self, texts):
        self.calls.append(list(texts))
        return self._embedder.embed_documents(texts)


def flat(calls: list[list[str]]) -> list[str]:
    return [text for call in calls for text in call]


def read_and_embed(counting) -> list[list[str]]:
    """What the workers' own tasks do with all that waits; the calls of the embedder."""
    counting.calls.clear()
    with use_embedder(counting):
        tasks.parse_ready()
        tasks.embed_ready()
    assert not DocumentVersion.objects.exclude(state__in=("live", "superseded")).exists()
    return list(counting.calls)


def test_of_a_changed_file_only_the_changed_chunks_are_embedded(upload, embedder):
    counting = CountingEmbedder(embedder)
    manual = "# Manual\n\n" + "\n\n".join(SECTIONS)
    upload("manual.md", manual.encode())
    first = flat(read_and_embed(counting))
    assert len(first) == Chunk.objects.count() >= 8
    changed = manual.replace("Rule 5 holds in building 5.", "Rule 5 holds everywhere.", 1)
    document = upload("manual.md", changed.encode()).document
    again = flat(read_and_embed(counting))
    new = [chunk.embedding_text for chunk in document.chunks.all() if "everywhere" in chunk.text]
    assert sorted(again) == sorted(new)
    assert len(again) <= 2


def test_many_small_files_go_through_the_embedder_together(upload, embedder):
    counting = CountingEmbedder(embedder)
    for number in range(12):
        upload(f"{number}.md", f"# Note {number}\n\nThe fee of case {number} is {number} euros.\n".encode())
    calls = read_and_embed(counting)
    assert sum(map(len, calls)) == 12
    assert len(calls) == 1


def test_one_file_and_many_go_the_same_way(upload, embedder, monkeypatch):
    """The same stages see a single upload and a bulk load."""
    ways = []
    for stage in ("read", "embed_and_publish", "publish"):
        former = getattr(pipeline, stage)
        monkeypatch.setattr(
            pipeline,
            stage,
            lambda *args, _stage=stage, _former=former, **named: (
                ways.append(_stage) or _former(*args, **named)
            ),
        )
    for count in (1, 5):
        ways.clear()
        for number in range(count):
            upload(f"{count}-{number}.md", f"Sentence {count} {number}.".encode())
        read_and_embed(CountingEmbedder(embedder))
        assert sorted(set(ways)) == ["embed_and_publish", "publish", "read"]
        assert ways.count("read") == ways.count("publish") == count
        assert ways.count("embed_and_publish") == 1
