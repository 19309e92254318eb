"""Whose job is next: people before bulk loads, everybody in turn, and a place kept for short files."""

import pytest
from django.utils import timezone

from accounts.principals import principal_of
from ingestion import ledger, services, turns
from ingestion.blobs import store
from ingestion.ledger import StaleLease
from ingestion.models import IngestJob, ProcessingEvent
from ingestion.values import SourceFile
from kb_platform import heartbeats

PARSE = IngestJob.Stage.PARSE
LATER = IngestJob.Priority.LATER


@pytest.fixture
def load(settings, tmp_path):
    """`load(user, collection name, files)`: jobs of a bulk load, or of `priority`."""
    settings.BLOB_DIR = tmp_path
    made = {}

    def load_files(user, name, files, priority=LATER):
        actor = principal_of(user)
        collection = made.get(name) or services.create_collection(actor=actor, name=name)
        made[name] = collection
        return [
            services.upload_document(
                actor=actor,
                collection=collection,
                file=SourceFile(name=file, blob=store([file.encode()])),
                priority=priority,
            ).job
            for file in files
        ]

    return load_files


def order():
    """The names of the files in the order in which they are handed out, one at a time; the forecast agrees."""
    told = [job.version.file_name for job in turns.upcoming(PARSE, 4)]
    names = []
    while leases := ledger.claim(PARSE):
        names.append(IngestJob.objects.get(pk=leases[0].job_id).version.file_name)
    if not IngestJob.objects.filter(is_long=True).exists():
        assert told == names[:4]
    return names


def test_three_files_of_one_do_not_wait_behind_the_flood_of_another(owner, administrator, load):
    load(owner, "Flood", [f"a{n}.md" for n in range(6)])
    load(administrator, "Few", ["b0.md", "b1.md", "b2.md"])
    assert order() == ["a0.md", "b0.md", "a1.md", "b1.md", "a2.md", "b2.md", "a3.md", "a4.md", "a5.md"]


def test_a_person_takes_turns_among_their_own_collections_too(owner, administrator, load):
    load(owner, "Flood", ["a0.md", "a1.md", "a2.md"])
    load(owner, "Other", ["c0.md"])
    load(administrator, "Few", ["b0.md", "b1.md"])
    assert order() == ["a0.md", "b0.md", "c0.md", "b1.md", "a1.md", "a2.md"]


def test_a_single_upload_goes_before_every_bulk_load(owner, load):
    load(owner, "Flood", ["a0.md", "a1.md"])
    load(owner, "Desk", ["now.md"], priority=None)
    assert order() == ["now.md", "a0.md", "a1.md"]


def test_beyond_a_few_files_at_a_time_an_upload_is_a_bulk_load(owner, load):
    jobs = load(owner, "Desk", [f"{n}.md" for n in range(turns.SMALL_BATCH + 1)], priority=None)
    assert [job.priority for job in jobs] == [0] * turns.SMALL_BATCH + [1]


def test_long_files_leave_one_place_to_short_ones(owner, load):
    heartbeats.beat("parse@a", ["parse", "light"], 3)
    jobs = load(owner, "Scans", ["s0.pdf", "s1.pdf", "s2.pdf", "note.md"])
    long = IngestJob.objects.filter(pk__in=[job.pk for job in jobs[:3]])
    long.update(is_long=True)
    assert order() == ["s0.pdf", "s1.pdf", "note.md"]
    first = IngestJob.objects.filter(pk=jobs[0].pk)
    first.update(ended_at=timezone.now(), lease_until=None)
    assert order() == ["s2.pdf"]


def test_a_file_that_turns_out_long_makes_way_when_the_places_are_taken(owner, load):
    heartbeats.beat("parse@a", ["parse"], 2)
    load(owner, "Scans", ["s0.pdf", "s1.pdf", "note.md"])
    first, second = ledger.claim(PARSE, limit=2)
    ledger.note_pages(first, 1, 400)  # too early to say
    for lease in (first, second):
        object.__setattr__(lease, "began", lease.began - 3)
    ledger.note_pages(first, 2, 400)
    with pytest.raises(StaleLease):
        ledger.note_pages(second, 2, 400)
    made_way = IngestJob.objects.get(pk=second.job_id)
    assert (made_way.state, made_way.failures, made_way.is_long) == ("queued", 0, True)
    assert ProcessingEvent.objects.filter(reason_code="made_way").count() == 1
    assert order() == ["note.md"]
    ledger.note_pages(first, 3, 400)
