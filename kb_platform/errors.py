"""The one tree of expected errors. Each carries a code, an HTTP status and a sentence that is safe to show.

KnowledgeBaseError
├── InvalidInput        400  the caller can mend it; `fields` names where
├── NotAuthenticated    401
├── NotAllowed          403  the role lacks the right; never used where the existence of a thing is secret
├── NotFound            404  missing, or hidden from the caller: the same words for both
├── Conflict            409  the thing is in a state that forbids this
├── TooLarge            413
├── TooMany             429  the caller has enough under way; later
└── Unavailable         503  a dependency is down; try again
    ├── NoRoom          507  a disk is full or cannot be written
    └── TransientError       marks what a background task may retry
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class KnowledgeBaseError(Exception):
    """`retry_after`: seconds after which another try makes sense; 0 if none does."""

    code = "error"
    status = 500
    retry_after: int = 0
    message: StrOrPromise = _("Something went wrong. Your input is kept; try again.")

    def __init__(
        self,
        message: StrOrPromise | None = None,
        *,
        code: str | None = None,
        fields: Mapping[str, StrOrPromise] | None = None,
    ) -> None:
        self.message = message if message is not None else type(self).message
        self.code = code or type(self).code
        self.fields = dict(fields or {})
        super().__init__(self.code)

    def __str__(self) -> str:
        return str(self.message)


class InvalidInput(KnowledgeBaseError):
    code, status = "invalid", 400
    message = _("Some of the input cannot be used.")


class NotAuthenticated(KnowledgeBaseError):
    code, status = "not_authenticated", 401
    message = _("Sign in, or send a valid API token.")


class NotAllowed(KnowledgeBaseError):
    code, status = "not_allowed", 403
    message = _("Your account may not do this. Ask an administrator.")


class NotFound(KnowledgeBaseError):
    code, status = "not_found", 404
    message = _("Not found. It may have been moved or deleted, or it is not open to you.")


class Conflict(KnowledgeBaseError):
    code, status = "conflict", 409
    message = _("This cannot be done in its present state.")


class TooLarge(KnowledgeBaseError):
    code, status = "too_large", 413
    message = _("The file is too large.")


class TooMany(KnowledgeBaseError):
    code, status, retry_after = "too_many", 429, 15
    message = _("You have a lot under way already. Try again in a moment.")


class Unavailable(KnowledgeBaseError):
    code, status, retry_after = "unavailable", 503, 5
    message = _("A part of the system is not available. Try again in a moment.")


class NoRoom(Unavailable):
    code, status, retry_after = "no_room", 507, 60
    message = _(
        "The server has no room to store this: a disk is full or cannot be written. Nothing that is stored is lost. Tell an administrator, and try again afterwards."
    )


class TransientError(Unavailable):
    code = "transient"
