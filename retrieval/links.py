"""Where a passage opens: the source viewer of its document, with the passage marked."""

from typing import Protocol
from urllib.parse import urlencode

from retrieval.values import External


class Place(Protocol):
    """A span of elements in one version of a document."""

    @property
    def document_uid(self) -> str: ...
    @property
    def version_number(self) -> int | None: ...
    @property
    def first_element(self) -> int: ...
    @property
    def last_element(self) -> int: ...


class AnyPlace(Place, Protocol):
    """A place here, or of a record of another system."""

    @property
    def external(self) -> External | None: ...


def place_url(place: AnyPlace) -> str:
    """Where the place opens: the source viewer, or the other system, or "" if that gave no link."""
    return place.external.url if place.external else source_url(place)


def source_url(place: Place) -> str:
    """`/d/<document>?version=&from=&to=#passage`; elements count from 0, both ends included."""
    span = {"from": place.first_element, "to": place.last_element}
    version = {"version": place.version_number} if place.version_number else {}
    return f"/d/{place.document_uid}?{urlencode(version | span)}#passage"
