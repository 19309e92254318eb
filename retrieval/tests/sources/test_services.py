import pytest
from django.conf import settings
from django.contrib.auth.models import Group

from accounts.values import SystemActor
from kb_platform.errors import InvalidInput
from kb_platform.models import AuditEntry
from retrieval.channels.external.sql import statement_fault
from retrieval.channels.external.values import SourceKind
from retrieval.sources.models import ExternalSource
from retrieval.sources.services import SourceInput, create_source, delete_source, switch_source, update_source

pytestmark = pytest.mark.django_db
SYSTEM = SystemActor(name="tests")
SQL = {"host": "db.example.com", "port": "5432", "database": "outside", "user": "reader", "statement": "select title from v where t @@ %(question)s"}  # fmt: skip


def wanted(**changes):
    given = {
        "name": "Wiki",
        "kind": SourceKind.DIFY,
        "options": {"url": "https://kb.example.com", "knowledge_id": "1"},
    }
    return SourceInput(**(given | changes))


def refused(**changes):
    with pytest.raises(InvalidInput) as caught:
        create_source(actor=SYSTEM, wanted=wanted(**changes))
    return set(caught.value.fields)


def test_every_change_is_audited_and_no_secret_is_told():
    source = create_source(actor=SYSTEM, wanted=wanted(secret="first-secret-key"))
    update_source(actor=SYSTEM, source=source, wanted=wanted(secret="second-secret-key", name="Other"))
    switch_source(actor=SYSTEM, source=source, is_active=False)
    switch_source(actor=SYSTEM, source=source, is_active=False)
    delete_source(actor=SYSTEM, source=source)
    entries = list(AuditEntry.objects.filter(object_type="externalsource").order_by("id"))
    assert [entry.action for entry in entries] == [
        "source.created", "source.updated", "source.switched_off", "source.deleted",
    ]  # fmt: skip
    assert "secret-key" not in str([entry.detail for entry in entries])


def test_a_secret_is_sealed_and_an_empty_field_keeps_it():
    source = create_source(actor=SYSTEM, wanted=wanted(secret="first-secret-key"))
    stored = ExternalSource.objects.get().secret
    assert "first" not in stored
    update_source(actor=SYSTEM, source=source, wanted=wanted(secret=None))
    assert ExternalSource.objects.get().secret == stored
    update_source(actor=SYSTEM, source=source, wanted=wanted(secret=""))
    assert ExternalSource.objects.get().secret == ""


def test_a_stored_key_is_not_taken_along_to_another_server():
    source = create_source(actor=SYSTEM, wanted=wanted(secret="first-secret-key"))
    elsewhere = wanted(options={"url": "https://evil.example.com", "knowledge_id": "1"})
    with pytest.raises(InvalidInput) as caught:
        update_source(actor=SYSTEM, source=source, wanted=elsewhere)
    assert set(caught.value.fields) == {"secret"}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"name": " "}, {"name"}),
        ({"name": "x" * 101}, {"name"}),
        ({"options": {"url": "ftp://x", "knowledge_id": ""}}, {"url", "knowledge_id"}),
        ({"options": {"url": "http://me:pw@x/", "knowledge_id": "1", "more": "x"}}, {"url", "more"}),
        ({"tries": 4}, {"tries"}),
        ({"try_ms": 0, "total_ms": 10**9, "concurrency": 0}, {"try_ms", "total_ms", "concurrency"}),
        ({"secret": "密钥"}, {"secret"}),
        ({"access": {999_999: ()}}, {"access"}),
        ({"kind": SourceKind.SQL, "options": SQL}, {"secret"}),
        ({"kind": SourceKind.SQL, "options": SQL | {"statement": "drop table x"}, "secret": "p"}, {"statement"}),
        ({"kind": SourceKind.ELASTICSEARCH, "options": {"url": "http://x", "index": "../_all", "text_field": "t"}}, {"index"}),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(changes, fields):
    assert refused(**changes) == fields
    assert not ExternalSource.objects.exists()


def test_two_sources_have_two_names():
    create_source(actor=SYSTEM, wanted=wanted())
    assert refused() == {"name"}


def test_values_need_a_field_and_a_statement_that_obeys():
    group = Group.objects.create(name="HR")
    assert refused(access={group.pk: ("hr",)}) == {"access"}
    limited = {
        "kind": SourceKind.SQL,
        "options": SQL,
        "secret": "p",
        "filter_field": "team",
        "access": {group.pk: ("hr",)},
    }
    assert refused(**limited) == {"access"}
    statement = SQL["statement"] + " and team = any(%(allowed)s)"
    create_source(actor=SYSTEM, wanted=wanted(**limited | {"options": SQL | {"statement": statement}}))


def test_the_sites_own_database_is_no_source():
    main = settings.DATABASES["default"]
    own = SQL | {"user": main["USER"], "database": main["NAME"]}
    assert refused(kind=SourceKind.SQL, options=own, secret="p") == {"secret"}


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("select title from v where t = %(question)s limit %(limit)s", ""),
        ("with q as (select %(question)s) select 1 where '10%%' = ''", ""),
        ("delete from v where t = %(question)s", "no_select"),
        ("select 1; drop table v -- %(question)s", "several"),
        ("select '%(user)s', %(question)s", "parameter"),
        ("select 1 where t like '%x%' and %(question)s", "parameter"),
        ("select %s, %(question)s", "parameter"),
        ("select 1", "no_question"),
    ],
)
def test_a_statement_takes_the_question_as_a_bound_parameter_only(statement, fault):
    assert statement_fault(statement) == fault
