from datetime import timedelta

import pytest
from django.contrib.auth import hashers
from django.test import Client, RequestFactory
from django.utils import timezone

from accounts.models import SignInFailure
from accounts.services import create_user, deactivate_user
from accounts.sign_in import (
    Limit,
    SignInRefused,
    TooManyAttempts,
    check_password,
    forget_old_failures,
    per_pair,
)
from accounts.values import SystemActor

SYSTEM = SystemActor(name="tests")


def request_from(address="10.0.0.1", **headers):
    return RequestFactory().post("/login", REMOTE_ADDR=address, headers=headers)


def fail(email, address="10.0.0.1", times=1, **headers):
    """The last refusal of some wrong attempts."""
    for _attempt in range(times):
        with pytest.raises(SignInRefused) as refused:
            check_password(request_from(address, **headers), email=email, password="wrong")
    return refused.value


@pytest.fixture
def hashed(monkeypatch):
    """Counts how often a password reaches the hasher."""
    calls = []
    for hasher in hashers.get_hashers():
        encode = type(hasher).encode

        def counting(self, password, salt, _encode=encode):
            calls.append(1)
            return _encode(self, password, salt)

        monkeypatch.setattr(type(hasher), "encode", counting)
    return calls


def test_the_wait_doubles_up_to_its_limit():
    limit = Limit(free=3, longest=60)
    assert [limit.wait_s(failures) for failures in range(9)] == [0, 0, 0, 5, 10, 20, 40, 60, 60]


def test_the_right_password_opens_the_account(reader, password):
    assert check_password(request_from(), email=" Reader@Example.com ", password=password) == reader


def test_unknown_inactive_passwordless_and_wrong_are_told_apart_by_nothing(reader, outsider, hashed):
    deactivate_user(actor=SYSTEM, user=outsider)
    create_user(actor=SYSTEM, email="robot@example.com")
    hashed.clear()
    texts, efforts = set(), []
    for email in ("reader@example.com", "outsider@example.com", "robot@example.com", "nobody@example.com"):
        before = len(hashed)
        error = fail(email)
        texts.add((error.code, str(error)))
        efforts.append(len(hashed) - before)
    assert len(texts) == 1
    assert set(efforts) == {1}


def test_after_some_failures_the_next_attempt_has_to_wait_even_with_the_right_password(reader, password):
    fail(reader.email, times=per_pair().free)
    with pytest.raises(TooManyAttempts) as refused:
        check_password(request_from(), email=reader.email, password=password)
    assert 1 <= refused.value.retry_after <= 5
    assert "minute" in str(refused.value)


def test_an_unknown_account_is_slowed_down_just_the_same(reader, db):
    known, unknown = (
        fail(email, times=per_pair().free + 1) for email in (reader.email, "nobody@example.com")
    )
    assert (known.code, str(known)) == (unknown.code, str(unknown))


def test_few_of_many_guesses_reach_the_hasher(reader, hashed):
    hashed.clear()
    fail(reader.email, times=200)
    assert len(hashed) <= 20


def test_the_wait_passes(reader, password):
    fail(reader.email, times=per_pair().free)
    SignInFailure.objects.update(at=timezone.now() - timedelta(seconds=6))
    assert check_password(request_from(), email=reader.email, password=password) == reader


def test_the_owner_elsewhere_gets_in_while_somebody_guesses(reader, password):
    fail(reader.email, times=per_pair().free + 3)
    assert check_password(request_from("10.0.0.2"), email=reader.email, password=password) == reader


def test_guessing_one_account_from_many_addresses_slows_it_for_a_minute_at_most(reader):
    waits = []
    for number in range(40):
        error = fail(reader.email, address=f"10.1.0.{number}")
        if isinstance(error, TooManyAttempts):
            waits.append(error.retry_after)
    assert waits
    assert max(waits) <= 60


def test_trying_one_password_on_many_accounts_is_slowed(db):
    errors = [fail(f"person{number}@example.com") for number in range(100)]
    assert isinstance(errors[-1], TooManyAttempts)


def test_a_forged_forwarding_header_does_not_help(reader):
    for number in range(per_pair().free):
        fail(reader.email, **{"X-Forwarded-For": f"8.8.8.{number}"})
    assert isinstance(fail(reader.email, **{"X-Forwarded-For": "9.9.9.9"}), TooManyAttempts)


def test_success_forgets_the_failures(reader, password):
    fail(reader.email, times=per_pair().free - 1)
    check_password(request_from(), email=reader.email, password=password)
    assert not SignInFailure.objects.exists()


def test_old_failures_are_forgotten(reader):
    fail(reader.email)
    SignInFailure.objects.update(at=timezone.now() - timedelta(hours=25))
    forget_old_failures()
    assert not SignInFailure.objects.exists()


# --- the page ---------------------------------------------------------------------------------------------


def test_signing_in_leads_to_the_page_that_was_asked_for(reader, password):
    client = Client()
    response = client.post("/login?next=/account", {"email": reader.email, "password": password})
    assert (response.status_code, response["Location"]) == (302, "/account")
    assert client.get("/account").status_code == 200


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_no_page_of_another_site_is_led_to(reader, password, target):
    answer = Client().post("/login", {"email": reader.email, "password": password, "next": target})
    assert "evil" not in answer["Location"]
    assert not answer["Location"].startswith("javascript")


def test_a_refusal_says_so_and_says_when_to_come_back(reader):
    client = Client()
    for _attempt in range(per_pair().free):
        answer = client.post("/login", {"email": reader.email, "password": "wrong"})
        assert answer.status_code == 400
        assert "E-mail or password is not right." in answer.content.decode()
    answer = client.post("/login", {"email": reader.email, "password": "wrong"})
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 5
    assert "Too many attempts." in answer.content.decode()


@pytest.mark.parametrize("email", ["", "a\x00b@example.com", "x" * 1000, "用户@例子"])
def test_odd_addresses_are_refused_cleanly(db, email):
    assert Client().post("/login", {"email": email, "password": "x"}).status_code in (200, 400)


def test_signing_out_ends_the_session(reader, browser):
    client = browser(reader)
    assert client.post("/logout").status_code == 302
    assert client.get("/account").status_code == 302


def test_signing_out_needs_a_post(reader, browser):
    assert browser(reader).get("/logout").status_code == 405
