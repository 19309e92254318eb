"""Pictures inside files: drawn anew, for readers of the document only."""

import io

import pytest
from PIL import Image

from accounts.principals import principal_of
from ingestion import blobs
from ingestion.models import VersionPart
from ingestion.parsing.elements import PartRole
from ingestion.services import create_collection
from ingestion.testing.rows import make_document


@pytest.fixture
def picture(owner):
    document = make_document(create_collection(actor=principal_of(owner), name="Plans"))
    out = io.BytesIO()
    Image.new("RGB", (2400, 600), "navy").save(out, format="PNG")
    blob = blobs.store([out.getvalue()])
    VersionPart.objects.create(
        version=document.active_version,
        order=0,
        role=PartRole.PICTURE,
        name="plan.png",
        blob=blob.digest,
        size_bytes=blob.size_bytes,
    )
    return document, f"/api/v1/documents/{document.uid}/pictures/{blob.digest}.webp"


def test_a_picture_of_a_document_is_drawn_anew_for_its_readers(picture, api, owner):
    response = api(owner).get(picture[1])
    shown = Image.open(io.BytesIO(response.content))
    assert (response["Content-Type"], shown.format, shown.size) == ("image/webp", "WEBP", (1100, 275))


def test_an_outsider_and_a_foreign_picture_get_the_same_404(picture, api, owner, outsider):
    document, address = picture
    other = make_document(document.collection, title="Another")
    foreign = address.replace(str(document.uid), str(other.uid))
    assert [api(who).get(url).status_code for who, url in [(outsider, address), (owner, foreign)]] == [
        404,
        404,
    ]


@pytest.mark.parametrize("kind", ["pictures/%00.webp", "recordings/%00"])
def test_what_can_be_no_digest_is_missing(picture, api, owner, kind):
    assert api(owner).get(f"/api/v1/documents/{picture[0].uid}/{kind}").status_code == 404
