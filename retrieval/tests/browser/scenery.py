"""What the gates look at: a small company with documents of several kinds, answers, and files that went wrong.

Made once for a walk by the real services and the real pipeline, only with an embedder that needs no model. `build()` gives
the ids that addresses in `pages.py` name in braces; a page that needs another thing adds it there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import User
from accounts.password_links import make_link
from accounts.principals import principal_of
from accounts.selectors import administrators
from accounts.services import create_group, create_user, replace_grants
from accounts.setup import ensure_first_admin
from accounts.tokens import create_token
from accounts.values import GrantRequest, Holder, Permission, Principal, SystemActor, TokenScope
from ingestion import bulk, corrections, fields, ledger, pipeline, rechunking, services, uploads
from ingestion.blobs import store
from ingestion.dictionary import services as dictionary
from ingestion.dictionary.entries import Entry, Kind, clean_group, clean_stop_word, clean_term
from ingestion.faq.importing import read_file
from ingestion.faq.services import add_pair
from ingestion.faq.values import PairDraft
from ingestion.indexing.generations import ensure_first_generation
from ingestion.models import Collection, Correction, CorrectionOutcome, Document, IngestJob
from ingestion.samples.catalogue import FILES
from ingestion.testing import HashingEmbedder
from ingestion.values import Attributes, SourceFile
from retrieval.channels.external.values import SourceKind
from retrieval.chat import service
from retrieval.debugger import cases, running
from retrieval.debugger.asking import Asked
from retrieval.debugger.shapes import candidates
from retrieval.models import Citation, Message
from retrieval.sources.services import SourceInput, create_source, switch_source
from retrieval.tracing import visible_trace
from retrieval.values import SearchRequest

PASSWORD = "a long phrase for tests"
SYSTEM = SystemActor(name="tests")
LONG_NAME = "Zulassungsvoraussetzungen_und_Uebergangsbestimmungen_2026_final_v3_approved_by_everybody.md"
SAMPLES = ("c-20-maintenance.zh.pdf", "information-security.zh.docx", "remote-work-policy.html")
QUESTION = "How many days a week may people work from home?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenery:
    """keeper: administers and manages all content; reader: may see it; newcomer: nothing is open to them."""

    keeper: User
    reader: User
    newcomer: User
    ids: dict[str, str]


def build(embedder: HashingEmbedder) -> Scenery:
    ensure_first_generation(embedder)
    ids = {"first_start": (ensure_first_admin() or "").rpartition("/")[2]}
    keeper = _person("keeper", "Ada Lindqvist-Vandermeer", groups=(administrators().pk,))
    reader, newcomer = _person("reader", "王小明"), _person("newcomer", "Noor")
    manages = principal_of(keeper)
    handbook = services.create_collection(actor=manages, name="Handbook 员工手册", description="How we work.")
    empty = services.create_collection(actor=manages, name="Empty shelf")
    for label, kind, choices in (
        ("Region", "choice", ["EU", "亚太"]),
        ("Amount", "number", ()),
        ("Ends on", "date", ()),
    ):
        fields.define_field(actor=manages, collection=handbook, label=label, kind=kind, choices=choices)
    grants = [
        GrantRequest(holder=Holder.user(keeper.pk), permission=Permission.MANAGE),
        GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE),
    ]
    replace_grants(actor=SYSTEM, scope=handbook.scope, grants=grants, subject=handbook)
    group = create_group(actor=SYSTEM, name="Field service 现场服务", members=[reader.pk])
    token, _text = create_token(actor=SYSTEM, user=keeper, name="Intranet", scopes=[TokenScope.SEARCH])
    ids |= _dictionary(manages, handbook) | _faq(manages, handbook) | _source(manages, group)
    ids |= _documents(manages, handbook, embedder) | _conversations(manages)  # leaves a file waiting
    ids |= {"collection": str(handbook.uid), "group": str(group.pk), "token": str(token.pk)}
    ids |= {"user": str(reader.pk), "empty": str(empty.uid)}
    ids |= {"password_key": make_link(actor=manages, user=reader)}
    return Scenery(keeper=keeper, reader=reader, newcomer=newcomer, ids=ids)


def _source(actor: Principal, group: Group) -> dict[str, str]:
    """A source that is kept and not asked."""
    wanted = SourceInput(
        name="Knowledge base of the service department 服务部知识库",
        kind=SourceKind.DIFY,
        options={"url": "https://knowledge.example.com/api", "knowledge_id": "kb-1"},
        filter_field="region",
        access={group.pk: ("EU", "亚太")},
    )
    source = create_source(actor=actor, wanted=wanted)
    switch_source(actor=actor, source=source, is_active=False)
    return {"external_source": str(source.uid)}


def _dictionary(manages: Principal, handbook: Collection) -> dict[str, str]:
    def add(kind: Kind, entry: Entry, collection: Collection | None = None) -> str:
        row = dictionary.add_entry(actor=manages, kind=kind, collection=collection, entry=entry)
        return str(row.uid)

    add(Kind.TERMS, clean_term("Uebergangsbestimmungen"), handbook)
    return {
        "term": add(Kind.TERMS, clean_term("差旅包干")),
        "synonyms": add(Kind.SYNONYMS, clean_group(["差旅", "出差", "business trip", "travel"])),
        "stop_word": add(Kind.STOP_WORDS, clean_stop_word("公司")),
    }


def _person(name: str, full_name: str, groups: Iterable[int] = ()) -> User:
    return create_user(
        actor=SYSTEM, email=f"{name}@example.com", name=full_name, password=PASSWORD, groups=list(groups)
    )


def _documents(actor: Principal, handbook: Collection, embedder: HashingEmbedder) -> dict[str, str]:
    def upload(name: str, content: bytes) -> Document:
        file = SourceFile(name=name, blob=store([content]))
        attributes = Attributes(tags=("policy", "制度"), department="Support 支持")
        return services.upload_document(
            actor=actor, collection=handbook, file=file, attributes=attributes
        ).document

    paged, worded, plain = (upload(name, (FILES / name).read_bytes()) for name in SAMPLES)
    upload("prices.csv", b"Item,Price\nPump,12\nValve,7\n")
    again = upload(LONG_NAME, b"# Terms of delivery\n\nThe first edition.")
    failed = upload("scan.pdf", b"%PDF-1.7 broken")
    _run_jobs(embedder)
    upload(LONG_NAME, "# Terms of delivery\n\nThe second edition.\n\n第二版。".encode())
    _run_jobs(embedder)
    trashed = upload("trashed.md", b"# Trashed")
    bulk.delete_documents(actor=actor, documents=Document.objects.filter(pk=trashed.pk))
    corrected = upload(
        "corrected.md", b"# Rules\n\nThe first rule is old. The second rule stays. The third one too."
    )
    _run_jobs(embedder)
    _correct(actor, corrected, embedder)
    batch = uploads.open_batch(actor=actor, collection=handbook)
    for name, content in (
        ("notes.md", b"# Notes\n\nText."),
        ("bad.pdf", b"%PDF-1.7"),
        ("tool.exe", b"MZ"),
        ("copy.csv", b"Item,Price\nPump,12\nValve,7\n"),
    ):
        uploads.add_file(actor=actor, batch=batch, file=SimpleUploadedFile(name, content))
    named = {"pdf": paged, "docx": worded, "document": plain, "failed": failed, "corrected": corrected}
    ids = {name: str(document.uid) for name, document in named.items()}
    _run_jobs(embedder)
    waiting = upload("waiting.md", b"# Waiting")
    Document.objects.filter(pk=plain.pk).update(
        metadata={"region": "亚太", "amount": 1200.5, "ends_on": "2027-03-31"}
    )
    ids |= {"field": "region", "batch": str(batch.uid), "waiting": str(waiting.uid)}
    ids["chunk"] = str(plain.chunks.order_by("order").first().pk)
    return ids | {"versions": str(again.uid), "job": str(waiting.latest_version.job.uid)}


def _faq(actor: Principal, collection: Collection) -> dict[str, str]:
    """A pair with another wording, one that is no longer valid, and a file that is looked at."""
    drafts = (
        PairDraft(
            question="Who waters the plants?",
            answer="1. Monday: the front desk\n2. Thursday: whoever sits next to them",
            phrasings=("谁给植物浇水？",),
        ),
        PairDraft(question="打印机卡纸了怎么办？", answer="先关机，再打开后盖。"),
    )
    plants, printer = (
        add_pair(actor=actor, collection=collection, draft=draft, priority=0) for draft in drafts
    )
    bulk.archive_documents(actor=actor, documents=Document.objects.filter(pk=printer.document_id))
    file = "问题,答案\n食堂几点开门？,八点。\nWho waters the plants?,Nobody.\n,没有问题\n".encode("gbk")
    kept = read_file(actor=actor, collection=collection, name="问答.csv", data=file)
    return {"pair": str(plants.uid), "faq_import": str(kept.uid)}


def _correct(actor: Principal, document: Document, embedder: HashingEmbedder) -> None:
    """One correction in force, one that was undone, and one that fits no longer."""

    document.refresh_from_db()

    def correct(text: str) -> Correction:
        chunk = document.chunks.order_by("order").first().pk
        done = corrections.correct_text(
            actor=actor, document=document, chunk=chunk, text=text, counter=embedder
        )
        carry_out()
        return done

    def carry_out() -> None:
        while turn := rechunking.take_turn():
            pipeline.rechunk(turn, embedder)

    undone = correct("The first rule is wrong.")
    corrections.undo(actor=actor, document=document, uid=str(undone.uid))
    carry_out()
    correct("The first rule is new. The second rule stays.")
    lost = Correction.objects.create(
        document=document,
        version=document.versions.get(),
        action=Correction.Action.EXCLUDE,
        first_element=0,
        last_element=0,
        quote="What is not there.",
    )
    CorrectionOutcome.objects.create(correction=lost, version=document.versions.get(), fits=False)


def _run_jobs(embedder: HashingEmbedder) -> None:
    while leases := ledger.claim(IngestJob.Stage.PARSE, limit=50):
        for lease in leases:
            pipeline.read(lease, embedder)
    while leases := ledger.claim_batch(IngestJob.Stage.EMBED, most_jobs=50, most_chunks=500):
        pipeline.embed_and_publish(leases, embedder)


def _traces(principal: Principal) -> dict[str, str]:
    """A run, the same with other settings, and a test case kept from it."""
    request = SearchRequest(text=QUESTION)
    asked = Asked(request=request, person=principal, changed={"lexical": False, "pool": 10})
    trace, compared = running.compare(asked, principal=principal)
    row = candidates(visible_trace(principal, trace), principal=principal).rows[0]
    cases.save_case(actor=principal, question=QUESTION, kind="semantic", note="差旅 notes", relevant=[row])
    return {"trace": trace, "compared": compared}


def _conversations(principal: Principal) -> dict[str, str]:
    answered = service.answer(QUESTION, principal=principal)
    service.answer("泵的型号是什么 zzz?", principal=principal, conversation=answered.conversation_uid)
    refused = service.answer("zzz qqq xxx", principal=principal)
    stopped = service.ask("Is a stopped question kept?", principal=principal)
    service.give_up(stopped, is_stopped=True)
    failed = service.ask("Is a failed question kept?", principal=principal)
    service.give_up(failed, is_stopped=False)
    degraded = service.answer(QUESTION, principal=principal)
    Message.objects.filter(uid=degraded.uid).update(degraded=["dense"])
    withdrawn = service.answer(QUESTION, principal=principal)
    Citation.objects.filter(message__uid=withdrawn.uid).update(document=None)
    return _traces(principal) | {
        "degraded": degraded.conversation_uid,
        "withdrawn": withdrawn.conversation_uid,
        "conversation": answered.conversation_uid,
        "message": answered.uid,
        "refused": refused.conversation_uid,
        "stopped": stopped.conversation_uid,
        "failed_answer": failed.conversation_uid,
    }
