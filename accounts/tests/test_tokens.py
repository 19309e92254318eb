from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiToken
from accounts.principals import principal_of
from accounts.services import update_user
from accounts.tokens import create_token, principal_from_token, revoke_token
from accounts.values import SystemActor, TokenScope, UserChanges
from kb_platform.errors import InvalidInput, NotAllowed, NotAuthenticated, NotFound

SYSTEM = SystemActor(name="tests")


@pytest.fixture
def token(reader):
    return create_token(actor=SYSTEM, user=reader, name="t", scopes=[TokenScope.SEARCH])


def test_a_token_speaks_for_its_owner_within_its_scopes(token, reader):
    principal = principal_from_token(token[1])
    assert principal.user_id == reader.pk
    assert principal.token.scopes == {TokenScope.SEARCH}


def test_only_a_hash_is_kept(token):
    secret = token[1].rpartition("_")[2]
    assert len(token[1]) == len("kb_") + 16 + 1 + 43
    assert secret not in str(ApiToken.objects.values())


def test_no_two_tokens_share_anything(reader):
    texts = [
        create_token(actor=SYSTEM, user=reader, name="t", scopes=[TokenScope.SEARCH])[1] for _n in range(20)
    ]
    parts = {part for text in texts for part in text.split("_", 2)[1:]}
    assert len(parts) == 40


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "",
        lambda text: "kb_",
        lambda text: text[:-1],
        lambda text: text + "x",
        lambda text: text[:-1] + ("a" if text[-1] != "a" else "b"),
        lambda text: text.upper(),
        lambda text: text.replace("kb_", "kb-"),
        lambda text: "kb_' or 1=1 --",
        lambda text: text[:10] + "\x00" + text[11:],
        lambda text: text + "," + text,
        lambda text: text + "\n",
        lambda text: "kb_" + "０" * 16 + "_" + "a" * 43,
    ],
)
def test_a_spoilt_token_opens_nothing(token, spoil):
    with pytest.raises(NotAuthenticated):
        principal_from_token(spoil(token[1]))


def test_an_ended_token_is_refused(token):
    ApiToken.objects.update(expires_at=timezone.now())
    with pytest.raises(NotAuthenticated):
        principal_from_token(token[1])


def test_a_revoked_token_is_refused_by_the_next_request(token, reader):
    headers = {"Authorization": f"Bearer {token[1]}"}
    assert Client(headers=headers).get("/api/v1/me").status_code == 200
    revoke_token(actor=principal_of(reader), token_id=token[0].pk)
    answer = Client(headers=headers).get("/api/v1/me")
    assert answer.status_code == 401
    assert "ended" in answer.json()["error"]["message"]


def test_nobody_revokes_the_token_of_another(token, outsider):
    with pytest.raises(NotFound):
        revoke_token(actor=principal_of(outsider), token_id=token[0].pk)


def test_nobody_makes_a_token_for_another(reader, outsider):
    with pytest.raises(NotAllowed):
        create_token(actor=principal_of(outsider), user=reader, name="t", scopes=[TokenScope.SEARCH])


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("scopes", {"scopes": []}),
        ("scopes", {"scopes": [TokenScope.ADMIN]}),
        ("days", {"days": 0}),
        ("days", {"days": 366}),
        ("name", {"name": "x" * 101}),
    ],
)
def test_limits_of_a_new_token(reader, field, change):
    wish = {"name": "t", "scopes": [TokenScope.SEARCH], "days": 90} | change
    with pytest.raises(InvalidInput) as refused:
        create_token(actor=SYSTEM, user=reader, **wish)
    assert set(refused.value.fields) == {field}


def test_a_token_ends_after_ninety_days_unless_said_otherwise(token):
    left = token[0].expires_at - timezone.now()
    assert timedelta(days=89) < left <= timedelta(days=90)


def test_an_admin_token_ends_with_its_owners_role(administrator, reader):
    _row, text = create_token(actor=SYSTEM, user=administrator, name="t", scopes=list(TokenScope))
    assert principal_from_token(text).is_administrator
    type(reader).objects.filter(pk=reader.pk).update(is_superuser=True)
    update_user(actor=SYSTEM, user=administrator, changes=UserChanges(groups=frozenset()))
    assert not principal_from_token(text).is_administrator


def test_an_administrators_token_without_the_scope_does_not_administer(administrator):
    _row, text = create_token(actor=SYSTEM, user=administrator, name="t", scopes=[TokenScope.SEARCH])
    assert not principal_from_token(text).is_administrator


def test_a_bad_token_is_not_saved_by_a_good_session(reader):
    client = Client(headers={"Authorization": "Bearer kb_nonsense"})
    client.force_login(reader)
    assert client.get("/api/v1/me").status_code == 401


def test_a_token_in_the_query_string_is_not_looked_at(token):
    assert Client().get(f"/api/v1/me?token={token[1]}&access_token={token[1]}").status_code == 401
