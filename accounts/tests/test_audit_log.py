import csv
import io
from datetime import UTC, date, datetime

import pytest

from accounts.values import SystemActor
from kb_platform import audit_log
from kb_platform.audit import record
from kb_platform.audit_log import AuditFilter, csv_lines, page_of
from kb_platform.models import AuditEntry

pytestmark = pytest.mark.django_db
ADA = SystemActor(name="Ada")


def entries(count, action="user.created"):
    return [record(ADA, action) for _number in range(count)]


def test_pages_go_by_key_both_ways_and_end(monkeypatch):
    monkeypatch.setattr(audit_log, "PAGE", 2)
    ids = [entry.pk for entry in entries(5)][::-1]
    first = page_of(AuditFilter())
    assert [entry.pk for entry in first.entries] == ids[:2]
    assert first.newer is None
    second = page_of(AuditFilter(), before=str(first.older))
    assert [entry.pk for entry in second.entries] == ids[2:4]
    last = page_of(AuditFilter(), before=str(second.older))
    assert ([entry.pk for entry in last.entries], last.older) == (ids[4:], None)
    back = page_of(AuditFilter(), after=str(last.newer))
    assert [entry.pk for entry in back.entries] == ids[2:4]


def test_filters_narrow_by_group_person_object_day_and_request(owner, reader):
    record(ADA, "setting.changed")
    about = record(ADA, "user.updated", reader)
    AuditEntry.objects.filter(pk=about.pk).update(
        at=datetime(2026, 3, 1, 23, 59, tzinfo=UTC), trace_id="ab" * 16, actor=owner
    )
    for query in (
        {"group": "people", "to": "2026-03-01"},
        {"actor": str(owner.pk)},
        {"object": f"user:{reader.pk}", "to": "2026-03-01"},
        {"from": "2026-03-01", "to": "2026-03-01"},
        {"q": "ab" * 16},
    ):
        assert [entry.pk for entry in page_of(AuditFilter.from_query(query)).entries] == [about.pk], query


@pytest.mark.parametrize(
    "query",
    [
        {"from": "2026-13-01"},
        {"from": "99999-01-01"},
        {"actor": "9" * 40},
        {"group": "x"},
        {"object": ":"},
        {"q": "\x00"},
    ],
)
def test_what_cannot_be_understood_is_left_out(query):
    assert AuditFilter.from_query(query).as_query() == {}


def test_the_address_is_rebuilt_as_it_was():
    query = {"q": "Ada", "group": "access", "object": "user:1", "from": "2026-03-01"}
    asked = AuditFilter.from_query(query)
    assert (asked.as_query(), asked.first_day) == (query, date(2026, 3, 1))


FORMULAS = ["=cmd()", " =cmd()", "＝cmd()", "\n=cmd()", "-1+cmd()"]


def test_the_export_has_every_entry_once_and_no_formula(monkeypatch):
    monkeypatch.setattr(audit_log, "EXPORT_BATCH", 2)
    entries(4)
    for name in FORMULAS:
        record(SystemActor(name=name), "user.created")
    text = "".join(part for part, _key in csv_lines(AuditFilter()))
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    assert len(rows) == 5 + len(FORMULAS)
    assert rows[1][1] == "Added an account"
    assert [row[5] for row in rows[1 : len(FORMULAS) + 1]] == [f"'{name}" for name in FORMULAS[::-1]]


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")  # the test client is synchronous
def test_an_export_is_itself_recorded(browser, administrator, outsider):
    answer = browser(administrator).get("/system/audit/export?group=people")
    assert b"Added an account" in b"".join(answer)
    entry = AuditEntry.objects.get(action="audit.exported")
    assert (entry.detail, entry.origin) == ({"group": "people"}, "127.0.0.1")
    assert browser(outsider).get("/system/audit/export").status_code == 403
