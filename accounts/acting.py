"""Whom a management command acts as."""

from django.core.management.base import CommandError

from accounts.models import User
from accounts.principals import principal_of
from accounts.values import Principal


def acting_principal(email: str | None) -> Principal:
    """The principal of an account by e-mail, or of the first administrator. Raises CommandError with what to do."""
    if email:
        user = User.objects.filter(email=email.lower(), is_active=True).first()
        if user is None:
            raise CommandError(f"no active account has the e-mail {email}")
        return principal_of(user)
    user = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if user is None:
        raise CommandError(
            "there is no administrator yet: open the one-time link of `make run` first, or use --as"
        )
    return principal_of(user)
