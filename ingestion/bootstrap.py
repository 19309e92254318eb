"""First start: index generation 1, and the sample documents by the real pipeline. Idempotent."""

import logging

from django.conf import settings
from django.db import transaction

from accounts.selectors import administrators, all_staff
from accounts.services import replace_grants
from accounts.values import GrantRequest, Holder, Permission, SystemActor
from ingestion import services
from ingestion.blobs import store
from ingestion.embedding.registry import get_embedder
from ingestion.indexing.generations import ensure_first_generation
from ingestion.models import Collection, IndexGeneration
from ingestion.samples.catalogue import COLLECTIONS, DOCUMENTS, SampleCollection
from ingestion.values import Attributes, SourceFile

log = logging.getLogger(__name__)
ACTOR = SystemActor(name="first start")


def bootstrap() -> list[str]:
    """Make the index, and on the very first start the samples unless KB_SAMPLES=0. Returns lines to show."""
    is_first = not IndexGeneration.objects.exists()
    ensure_first_generation(get_embedder())
    if is_first and settings.SAMPLES and not Collection.objects.exists():
        add_samples()
        return [f"{len(DOCUMENTS)} sample documents are being read; ask about them in a minute"]
    return []


@transaction.atomic
def add_samples() -> None:
    """The sample collections: open ones for all staff, the restricted one for administrators alone."""
    collections = {sample.key: _add_collection(sample) for sample in COLLECTIONS}
    for sample in DOCUMENTS:
        file = SourceFile(
            name=sample.path.name, blob=store([sample.path.read_bytes()]), modified_at=sample.modified_at
        )
        services.upload_document(
            actor=ACTOR,
            collection=collections[sample.collection],
            file=file,
            attributes=Attributes(
                title=sample.title,
                doc_type=sample.doc_type,
                department=sample.department,
                security_level=sample.security_level,
                tags=tuple(sample.tags),
            ),
        )
    log.info("sample documents queued", extra={"documents": len(DOCUMENTS)})


def _add_collection(sample: SampleCollection) -> Collection:
    collection = services.create_collection(actor=ACTOR, name=sample.name, description=sample.description)
    grants = [GrantRequest(holder=Holder.group(administrators().pk), permission=Permission.MANAGE)]
    if not sample.restricted:
        grants.append(GrantRequest(holder=Holder.group(all_staff().pk), permission=Permission.VIEW))
    replace_grants(actor=ACTOR, scope=collection.scope, grants=grants, subject=collection)
    return collection
