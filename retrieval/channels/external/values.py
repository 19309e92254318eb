"""What is known of a source when it is asked, and what comes back. Plain values: no ORM, so that threads may hold them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kb_platform.net.guard import Bounds

PREFIX = "ext"


class SourceKind(StrEnum):
    DIFY = "dify"
    HTTP = "http"
    ELASTICSEARCH = "elasticsearch"
    SQL = "sql"
    LANGCHAIN = "langchain"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConfig:
    """One source as one reader may ask it. secret: in clear.

    filter_field, allowed: the reader gets only records whose field holds one of these values; None: all records.
    stamp: changes with every change of the settings; its circuit begins anew then.
    """

    uid: str
    name: str
    kind: SourceKind
    options: Mapping[str, str]
    secret: str = field(default="", repr=False)
    filter_field: str = ""
    allowed: tuple[str, ...] | None = None
    bounds: Bounds = field(default_factory=Bounds)
    stamp: str = ""

    @property
    def target(self) -> str:
        """The key of its circuit."""
        return f"source:{self.uid}:{self.stamp}"

    def option(self, name: str) -> str:
        return self.options.get(name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record as a source gave it, cleaned. score: on the source's own scale, None when it gave no usable number."""

    remote_id: str
    title: str
    text: str
    url: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalHit:
    """A record with its name among our candidates and its score on the scale that all sources share, 0..1.

    allowed: the values that its reader was limited to, None for no limit.
    """

    key: str
    source_uid: str
    source_name: str
    record: Record
    score: float
    allowed: tuple[str, ...] | None = None


def key_of(source_uid: str, remote_id: str) -> str:
    """`ext:<source>:<hash>`: the same for the same record, and telling nothing of the remote id."""
    digest = hashlib.blake2b(remote_id.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"{PREFIX}:{source_uid}:{digest}"


def source_of(key: int | str) -> str:
    """The uid of the source behind a key; "" for a chunk of the index."""
    return key.split(":")[1] if isinstance(key, str) and key.startswith(f"{PREFIX}:") else ""
