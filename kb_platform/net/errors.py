"""Why a call to another server gave nothing. The sentences are safe to show: they never repeat what the server said."""

from django.utils.translation import gettext_lazy as _

from kb_platform.errors import Unavailable


class OutboundError(Unavailable):
    """`is_retryable`: another try within the same call may help."""

    code = "outbound"
    is_retryable = False
    message = _("The other server did not give a usable answer.")


class AddressRefused(OutboundError):
    """The address is not one that may be called."""

    code = "address_refused"
    message = _(
        "This address may not be called. Addresses of the internal network must be allowed by host and port under Settings, Outgoing connections."
    )


class Unreachable(OutboundError):
    code, is_retryable = "unreachable", True
    message = _("The server cannot be reached: its name is unknown, or it refuses the connection.")


class Late(OutboundError):
    code, is_retryable = "late", True
    message = _("The server did not answer in time.")


class AnswerTooLarge(OutboundError):
    code = "answer_too_large"
    message = _("The server’s answer is larger than allowed.")


class BadAnswer(OutboundError):
    """The answer came and cannot be used: not JSON, or of another shape than agreed."""

    code = "bad_answer"
    message = _("The server’s answer is not of the agreed form.")


class BadStatus(OutboundError):
    """The server answered with an error. retry_after_s: how long it asks to be left alone, if it said so."""

    code = "bad_status"

    def __init__(self, http_status: int, *, retry_after_s: float | None = None) -> None:
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        super().__init__(_reason(http_status) % {"status": http_status})

    @property
    def is_retryable(self) -> bool:  # type: ignore[override]
        return self.http_status in (429, 500, 502, 503, 504)


def _reason(status: int) -> str:
    if status in (401, 403):
        return str(_("The server refuses the key or the account (status %(status)d)."))
    if status == 404:
        return str(_("The server knows no such address (status %(status)d)."))
    if 300 <= status < 400:
        return str(_("The server sends the call elsewhere (status %(status)d); give the final address."))
    return str(_("The server answered with an error (status %(status)d)."))


class CircuitOpen(OutboundError):
    """Recent calls failed, so that this one was not made."""

    code = "circuit_open"
    message = _("The server failed just before, so it is left alone for a moment.")


class Busy(OutboundError):
    """As many calls as allowed are under way."""

    code = "busy"
    message = _("As many calls as allowed are under way to this server.")
