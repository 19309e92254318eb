"""Values that travel through ingestion. No ORM."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from ingestion.blobs import Blob
from kb_platform.errors import InvalidInput

MAX_NAME = 255
MAX_TAGS = 50
BIDI_AND_CONTROL = {*range(0x20), 0x7F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def clean_name(name: str) -> str:
    """A file name as people may see it: no folders, no control or direction marks, its end kept when it is cut."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    base = "".join(
        char for char in base if ord(char) not in BIDI_AND_CONTROL and not 0xD800 <= ord(char) < 0xE000
    ).strip()
    if len(base) > MAX_NAME:
        stem, dot, ending = base.rpartition(".")
        ending = f"{dot}{ending}"[-20:] if dot else ""
        base = (stem or base)[: MAX_NAME - len(ending)] + ending
    return base or _("unnamed")


def clean_path(path: str) -> str:
    """The path of a file within the folder that it was sent with; empty for a file outside of folders."""
    parts = [clean_name(part) for part in path.replace("\\", "/").split("/") if part.strip(". ")]
    return "/".join(parts) if len(parts) > 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A stored file and where it comes from. The same `source_key` in a collection makes a new version.

    path: where the file stood in a folder that was sent as a whole, so that two files of one name stay two documents.
    """

    name: str
    blob: Blob
    source_uri: str = ""
    path: str = ""
    modified_at: datetime | None = None

    @property
    def source_key(self) -> str:
        return self.source_uri or self.path or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """What people say about a document. None leaves a field as it is."""

    title: str | None = None
    doc_type: str | None = None
    department: str | None = None
    security_level: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: dict[str, Any] | None = field(default=None)

    def __post_init__(self) -> None:
        if self.tags is not None and len(self.tags) > MAX_TAGS:
            raise InvalidInput(fields={"tags": _("At most %(most)d tags.") % {"most": MAX_TAGS}})
        if self.metadata is not None and not isinstance(self.metadata, dict):
            raise InvalidInput(fields={"metadata": _("Must be an object of names and values.")})

    def given(self) -> dict[str, Any]:
        """The fields that were said, by name."""
        pairs = {
            "title": self.title,
            "doc_type": self.doc_type,
            "department": self.department,
            "security_level": self.security_level,
            "tags": None if self.tags is None else list(dict.fromkeys(self.tags)),
            "metadata": self.metadata,
        }
        return {name: value for name, value in pairs.items() if value is not None}


WORDS = ("doc_type", "department", "security_level")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataChange:
    """A change of metadata that fits many documents. None leaves a word as it is, "" empties it.

    values: of own fields by their keys; None takes a value away. clear_tags: all but those that are added.
    """

    doc_type: str | None = None
    department: str | None = None
    security_level: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    clear_tags: bool = False
    values: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tags in (self.add_tags, self.remove_tags):
            if len(tags) > MAX_TAGS:
                raise InvalidInput(fields={"tags": _("At most %(most)d tags.") % {"most": MAX_TAGS}})

    def __bool__(self) -> bool:
        return self != MetadataChange()

    def words(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in WORDS if getattr(self, name) is not None}

    def tags_after(self, tags: list[str]) -> list[str]:
        """The tags of a document once it is changed. Raises InvalidInput when they are too many."""
        kept = [] if self.clear_tags else [tag for tag in tags if tag not in self.remove_tags]
        after = list(dict.fromkeys([*kept, *self.add_tags]))
        if len(after) > max(MAX_TAGS, len(tags)):
            raise InvalidInput(fields={"tags": _("At most %(most)d tags.") % {"most": MAX_TAGS}})
        return after

    def as_json(self) -> dict[str, Any]:
        tags = {"add_tags": list(self.add_tags), "remove_tags": list(self.remove_tags)}
        return {**self.words(), **tags, "clear_tags": self.clear_tags, "values": self.values}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "MetadataChange":
        """What `as_json` gave; an empty object changes nothing."""
        parts: dict[str, Any] = {
            name: stored[name] for name in (*WORDS, "clear_tags", "values") if name in stored
        }
        parts |= {name: tuple(stored.get(name, ())) for name in ("add_tags", "remove_tags")}
        return cls(**parts)
