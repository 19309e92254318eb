"""Secrets at rest: keys and passwords of other servers are stored sealed, under a key derived from SECRET_KEY.

Whoever has only the database, or a backup of it, cannot read them. After SECRET_KEY has changed they must be typed again,
unless the old one stands in SECRET_KEY_FALLBACKS.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from kb_platform.errors import Unavailable

HINT_CHARACTERS = 4
LEAST_FOR_HINT = 12  # of a shorter secret the end would tell too much


class SecretLost(Unavailable):
    code = "secret_lost"
    message = _(
        "The stored key cannot be read any more, because the server’s secret key changed. Enter it again."
    )


def seal(secret: str) -> str:
    """A text that only this site can open; "" stays "" """
    return _box().encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> str:
    """Raises SecretLost."""
    try:
        return _box().decrypt(sealed.encode()).decode() if sealed else ""
    except (InvalidToken, ValueError) as error:
        raise SecretLost() from error


def is_sealed(text: str) -> bool:
    """Whether `unseal` can open it."""
    try:
        return bool(unseal(text))
    except SecretLost:
        return False


def hint(sealed: str) -> str:
    """The last characters of a long secret, by which people tell which one it is; else ""."""
    try:
        secret = unseal(sealed)
    except SecretLost:
        return ""
    return secret[-HINT_CHARACTERS:] if len(secret) >= LEAST_FOR_HINT else ""


def _box() -> MultiFernet:
    keys = (settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS))
    return MultiFernet([_fernet(key) for key in keys])


def _fernet(secret_key: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"kb sealing").derive(secret_key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
