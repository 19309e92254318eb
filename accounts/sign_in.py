"""Signing in by password, with guessing slowed down.

An attempt is written down before the password is looked at, and forgotten when it succeeds; so parallel guesses count
too. Beyond some free attempts each further one has to wait, longer and longer, but never for more than minutes: nobody
can lock somebody else out for good. Unknown accounts, inactive ones and wrong passwords are told apart by nothing.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth import authenticate
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.models import SignInFailure, User
from accounts.principals import principal_of
from kb_platform.audit import record
from kb_platform.errors import InvalidInput
from kb_platform.retention import delete_in_batches
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import FAILURE_DAYS, FREE_ATTEMPTS

WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """After `free` failures within the window the next attempt waits 5, 10, 20 … up to `longest` seconds."""

    free: int
    longest: int

    def wait_s(self, failures: int) -> int:
        beyond = failures - self.free
        return 0 if beyond < 0 else min(5 * 2 ** min(beyond, 20), self.longest)


LONGEST_PAIR_WAIT_S = 900
PER_ACCOUNT = Limit(free=20, longest=60)  # one account from anywhere: its owner is slowed, not shut out
PER_ADDRESS = Limit(free=60, longest=60)  # many accounts from one address, which an office may share


def per_pair() -> Limit:
    """For one account from one address; administrators set how many failures are free."""
    return Limit(free=store.get(FREE_ATTEMPTS), longest=LONGEST_PAIR_WAIT_S)


class SignInRefused(InvalidInput):
    code = "sign_in_refused"
    message = _("E-mail or password is not right.")


class TooManyAttempts(SignInRefused):
    """`retry_after` in seconds."""

    code = "too_many_attempts"

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        minutes = math.ceil(retry_after / 60)
        super().__init__(
            ngettext(
                "Too many attempts. Try again in %(minutes)d minute.",
                "Too many attempts. Try again in %(minutes)d minutes.",
                minutes,
            )
            % {"minutes": minutes}
        )


def check_password(request: HttpRequest, *, email: str, password: str) -> User:
    """The active account of this address and password. Raises SignInRefused, TooManyAttempts among them.

    The sender is known by the address of the connection alone; headers that anybody can write do not count.
    """
    account = email.strip().lower()[:254]
    attempt = _note_attempt(account, request.META.get("REMOTE_ADDR", "")[:64])
    user = authenticate(request, username=account, password=password)
    if not isinstance(user, User):
        raise SignInRefused()
    with transaction.atomic():
        SignInFailure.objects.filter(email=account, address=attempt.address).delete()
        record(principal_of(user), "user.signed_in", user)
    return user


@transaction.atomic
def _note_attempt(account: str, address: str) -> SignInFailure:
    """Count the attempt, or refuse it uncounted while an earlier one has to be waited for."""
    for key in sorted((f"account {account}", f"address {address}")):
        with (
            connection.cursor() as cursor
        ):  # attempts on one account, or from one address, take turns to be counted
            cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
    now = timezone.now()
    recent = SignInFailure.objects.filter(at__gt=now - WINDOW)
    of_account = list(recent.filter(email=account).order_by("at").values_list("address", "at"))
    of_address = list(recent.filter(address=address).order_by("at").values_list("at", flat=True))
    wait = max(
        _remaining_s(per_pair(), [at for source, at in of_account if source == address], now),
        _remaining_s(PER_ACCOUNT, [at for _source, at in of_account], now),
        _remaining_s(PER_ADDRESS, of_address, now),
    )
    if wait > 0:
        raise TooManyAttempts(wait)
    return SignInFailure.objects.create(email=account, address=address)


def _remaining_s(limit: Limit, moments: list[datetime], now: datetime) -> int:
    """Seconds still to wait; moments: the failures so far, oldest first."""
    if not moments:
        return 0
    until = moments[-1] + timedelta(seconds=limit.wait_s(len(moments)))
    return math.ceil((until - now).total_seconds())


def forget_old_failures() -> int:
    """Remove failures older than is set, which is never less than the window; returns how many."""
    oldest = timezone.now() - timedelta(days=store.get(FAILURE_DAYS))
    return delete_in_batches(SignInFailure.objects.filter(at__lt=oldest))
