"""Own fields of a collection: who may define them, what they accept, and that nothing is lost with them."""

import pytest

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import bulk, fields, services
from ingestion.models import BulkChange, Document, MetadataField
from ingestion.selectors import documents_for
from ingestion.testing.rows import make_document
from ingestion.values import Attributes, MetadataChange
from kb_platform.errors import Conflict, InvalidInput, NotAllowed
from kb_platform.models import AuditEntry

pytestmark = pytest.mark.django_db
Kind = MetadataField.Kind


@pytest.fixture
def contracts(owner, reader):
    made = services.create_collection(actor=principal_of(owner), name="Contracts")
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE)]
    replace_grants(actor=principal_of(owner), scope=made.scope, grants=grants)
    return made


@pytest.fixture
def define(owner, contracts):
    def make(label, kind=Kind.TEXT, choices=()):
        return fields.define_field(
            actor=principal_of(owner), collection=contracts, label=label, kind=kind, choices=choices
        )

    return make


def test_managers_define_fields_and_contributors_do_not(define, reader, contracts):
    assert define("合同编号").key == "合同编号"
    assert define("End date!", Kind.DATE).key == "end_date"
    with pytest.raises(NotAllowed):
        fields.define_field(actor=principal_of(reader), collection=contracts, label="X", kind="text")
    with pytest.raises(Conflict):
        define("END DATE!")
    for label, kind, choices in (
        ("", "text", ()),
        ("x" * 61, "text", ()),
        ("A", "colour", ()),
        ("B", "choice", [" "]),
    ):
        with pytest.raises(InvalidInput):
            define(label, kind, choices)
    assert AuditEntry.objects.filter(action="collection.field_added").count() == 2


@pytest.mark.parametrize(
    ("kind", "given", "stored"),
    [
        (Kind.TEXT, " A\x00 ", "A"),
        (Kind.NUMBER, "1,200.50", 1200.5),
        (Kind.NUMBER, "７", 7),
        (Kind.NUMBER, 5.0, 5),
        (Kind.DATE, "2026-03-31", "2026-03-31"),
        (Kind.BOOLEAN, "是", True),
        (Kind.BOOLEAN, False, False),
        (Kind.CHOICE, "EU", "EU"),
        (Kind.NUMBER, "", None),
    ],
)
def test_values_are_kept_by_their_kind(kind, given, stored):
    field = MetadataField(key="k", label="K", kind=kind, choices=["EU"])
    assert fields.clean_value(field, given) == stored


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (Kind.TEXT, 5),
        (Kind.TEXT, "x" * 1001),
        (Kind.NUMBER, "many"),
        (Kind.NUMBER, True),
        (Kind.NUMBER, "1e400"),
        (Kind.NUMBER, [1]),
        (Kind.DATE, "31.3.2026"),
        (Kind.DATE, "2026-02-31"),
        (Kind.BOOLEAN, "perhaps"),
        (Kind.CHOICE, "US"),
        (Kind.CHOICE, ["EU"]),
    ],
)
def test_values_of_another_kind_are_refused_by_name(kind, given):
    field = MetadataField(key="k", label="Region", kind=kind, choices=["EU"])
    with pytest.raises(InvalidInput) as caught:
        fields.clean_values([field], {"k": given})
    assert "“Region”" in caught.value.fields["metadata.k"]


def test_renaming_and_removing_lose_no_value(define, owner, contracts):
    region = define("Region", Kind.CHOICE, ["EU", "US"])
    document = make_document(contracts)
    actor = principal_of(owner)
    services.update_document(
        actor=actor, document=document, attributes=Attributes(metadata={"region": "EU", "old": [1]})
    )
    fields.change_field(actor=actor, field=region, label="Area", choices=["US"])
    fields.remove_field(actor=actor, field=region)
    document.refresh_from_db()
    assert document.metadata == {"region": "EU", "old": [1]}
    assert ("Area", None, "EU") in fields.shown_values(document)
    assert define("Region").key == "region_2"
    fields.restore_field(actor=actor, field=region)
    # a choice that is offered no more stays allowed where it stands
    services.update_document(actor=actor, document=document, attributes=Attributes(metadata={"region": "EU"}))
    with pytest.raises(InvalidInput):
        services.update_document(
            actor=actor, document=document, attributes=Attributes(metadata={"region": "CN"})
        )


def test_many_are_changed_after_a_trial_and_taken_back(define, owner, contracts):
    define("Region", Kind.CHOICE, ["EU", "US"])
    other = services.create_collection(actor=principal_of(owner), name="Other")
    rows = [make_document(contracts, title=f"Contract {n}") for n in range(3)]
    elsewhere = make_document(other, title="Elsewhere")
    Document.objects.filter(pk=rows[0].pk).update(tags=["old", "kept"], metadata={"region": "US", "more": 1})
    Document.objects.filter(pk=rows[1].pk).update(metadata={"region": "EU"})
    actor = principal_of(owner)
    change = MetadataChange(add_tags=("new",), remove_tags=("old",), values={"region": "EU"})
    chosen = documents_for(actor)
    trial = bulk.change_metadata(actor=actor, documents=chosen, change=change, is_trial=True)
    assert (trial.changed, trial.skipped, trial.change) == (4, 0, None)
    assert not BulkChange.objects.exists()
    done = bulk.change_metadata(actor=actor, documents=chosen, change=change)
    first = Document.objects.get(pk=rows[0].pk)
    assert (first.tags, first.metadata) == (["kept", "new"], {"region": "EU", "more": 1})
    assert Document.objects.get(pk=elsewhere.pk).metadata == {}
    assert bulk.change_metadata(actor=actor, documents=chosen, change=change).changed == 0
    Document.objects.filter(pk=rows[2].pk).update(metadata={"region": "US"})  # somebody else, later
    bulk.undo(actor=actor, change=done.change)
    first.refresh_from_db()
    assert (first.tags, first.metadata) == (["old", "kept"], {"region": "US", "more": 1})
    assert Document.objects.get(pk=rows[2].pk).metadata == {"region": "US"}
    assert Document.objects.get(pk=rows[2].pk).tags == []
    with pytest.raises(InvalidInput):
        bulk.change_metadata(actor=actor, documents=chosen, change=MetadataChange(values={"colour": "red"}))


def test_an_outsider_changes_nothing(define, outsider, contracts):
    make_document(contracts)
    actor = principal_of(outsider)
    outcome = bulk.change_metadata(
        actor=actor, documents=documents_for(actor), change=MetadataChange(doc_type="x")
    )
    assert (outcome.changed, outcome.refused) == (0, 0)
    assert not Document.objects.filter(doc_type="x").exists()
