"""Things hidden from everybody but their maker, for the test over all routes."""

from accounts.services import create_user
from accounts.tokens import create_token
from accounts.values import SystemActor, TokenScope

SYSTEM = SystemActor(name="tests")


def somebody():
    """A person who is in no test."""
    return create_user(actor=SYSTEM, email="somebody@example.com", name="Somebody")


def token_of_somebody():
    row, _text = create_token(actor=SYSTEM, user=somebody(), name="theirs", scopes=[TokenScope.SEARCH])
    return str(row.pk)


HIDDEN = {"tokens": token_of_somebody}
