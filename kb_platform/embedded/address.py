"""Where the site is, seen from this machine."""

from django.conf import settings

EVERY_ADDRESS = ("0.0.0.0", "::", "")  # noqa: S104 - bound to every address, and none of them is one to visit


def site_address() -> str:
    """The address, without a slash at its end, that a browser on this machine can open."""
    host = "localhost" if settings.HOST in EVERY_ADDRESS else settings.HOST
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def public_address() -> str:
    """The address to tell people: the first of KB_TRUSTED_ORIGINS that is one, else `site_address`."""
    named = (origin.rstrip("/") for origin in settings.CSRF_TRUSTED_ORIGINS if "*" not in origin)
    return next(named, "") or site_address()
