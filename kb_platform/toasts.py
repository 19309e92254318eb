"""What just happened, told in a toast on the next page, with a way back where there is one.

A toast is a Django success message whose `extra_tags` carry the undo as JSON; `components/_messages.html` draws it. For
an answer to htmx, which shows no messages, `tell` puts it into a header that `shell.mjs` reads.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """A form to post: its URL and its fields (text, or several texts of one name). `next` is added by the page."""

    url: str
    fields: Mapping[str, str | list[str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"url": self.url, "fields": dict(self.fields)}

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """Name and value of each hidden field."""
        return [
            (name, one)
            for name, value in self.fields.items()
            for one in ([value] if isinstance(value, str) else value)
        ]


def toast(request: HttpRequest, text: StrOrPromise, *, undo: Undo | None = None) -> None:
    """Tell `text` on the page that is drawn next."""
    tags = json.dumps({"toast": undo.as_json() if undo else None}, ensure_ascii=False)
    messages.success(request, str(text), extra_tags=tags)


def tell(response: HttpResponse, text: StrOrPromise, *, undo: Undo | None = None) -> HttpResponse:
    """Tell `text` at once in the page whose htmx request `response` answers."""
    detail = {"text": str(text), "undo": undo.as_json() if undo else None}
    response["HX-Trigger"] = json.dumps({"kb:toast": detail})
    return response


def is_toast(extra_tags: str | None) -> bool:
    return bool(extra_tags and extra_tags.startswith('{"toast"'))


def undo_of(extra_tags: str) -> Undo | None:
    """The way back that a message of `toast` carries."""
    stored = json.loads(extra_tags)["toast"]
    return Undo(url=stored["url"], fields=stored["fields"]) if stored else None
