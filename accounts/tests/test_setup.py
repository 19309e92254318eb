from datetime import timedelta
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.models import SetupLink, User
from accounts.selectors import administrators
from accounts.services import create_user
from accounts.setup import bootstrap, ensure_first_admin
from accounts.values import SystemActor

FORM = {"name": "Ada", "email": "ada@example.com", "password": "a rather long phrase"}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_in_the_environment(settings):
    settings.ADMIN_EMAIL = settings.ADMIN_PASSWORD = ""


def test_no_account_exists_at_first():
    bootstrap()
    assert not User.objects.exists()


def test_the_link_makes_the_first_administrator_and_signs_them_in():
    path = ensure_first_admin()
    client = Client()
    assert client.get(path).status_code == 200
    assert client.post(path, FORM).status_code == 302
    user = User.objects.get()
    assert (user.email, user.is_superuser, user.name) == ("ada@example.com", True, "Ada")
    assert set(user.groups.values_list("name", flat=True)) == {"All staff", "Administrators"}
    assert client.get("/system/users").status_code == 200


def test_the_link_works_once():
    path = ensure_first_admin()
    Client().post(path, FORM)
    answer = Client().post(path, FORM | {"email": "second@example.com"})
    assert answer.status_code == 410
    assert "This link was used or has expired" in answer.content.decode()
    assert User.objects.count() == 1


def test_the_link_ends_after_a_day():
    path = ensure_first_admin()
    SetupLink.objects.update(expires_at=timezone.now())
    assert Client().get(path).status_code == 410
    assert Client().post(path, FORM).status_code == 410
    assert not User.objects.exists()


def test_each_start_ends_the_link_before():
    first, second = ensure_first_admin(), ensure_first_admin()
    assert first != second
    assert Client().get(first).status_code == 410
    assert Client().get(second).status_code == 200


def test_the_link_never_works_once_an_administrator_exists(administrator):
    SetupLink.objects.create(key_hash="0" * 64, expires_at=timezone.now() + timedelta(hours=1))
    assert ensure_first_admin() is None


def test_a_living_link_is_dead_once_somebody_else_became_administrator():
    path = ensure_first_admin()
    create_user(actor=SystemActor(name="x"), email="b@example.com", groups=[administrators().pk])
    assert Client().get(path).status_code == 410
    assert Client().post(path, FORM).status_code == 410


@pytest.mark.parametrize("key", ["x", "%00", "..", "A" * 500])
def test_a_guessed_key_opens_nothing(key):
    ensure_first_admin()
    assert Client().get(f"/first-start/{key}").status_code == 410


def test_a_weak_password_keeps_the_link():
    path = ensure_first_admin()
    answer = Client().post(path, FORM | {"password": "short"})
    assert answer.status_code == 400
    assert 'id="id_password_error"' in answer.content.decode()
    assert Client().post(path, FORM).status_code == 302


def test_only_a_hash_of_the_key_is_kept():
    key = ensure_first_admin().rsplit("/", 1)[1]
    assert key not in str(SetupLink.objects.values())


def test_the_environment_makes_the_first_administrator(settings):
    settings.ADMIN_EMAIL, settings.ADMIN_PASSWORD = "Root@Example.com", "a rather long phrase"
    assert bootstrap() == []
    user = User.objects.get()
    assert (user.email, user.is_superuser) == ("root@example.com", True)
    assert user.check_password("a rather long phrase")
    assert bootstrap() == []


@pytest.mark.parametrize(
    ("email", "password", "named"),
    [
        ("no address", "a rather long phrase", "KB_ADMIN_EMAIL"),
        ("root@example.com", "", "KB_ADMIN_PASSWORD"),
        ("", "a rather long phrase", "KB_ADMIN_EMAIL"),
    ],
)
def test_a_start_with_unusable_credentials_names_them_and_makes_nobody(settings, email, password, named):
    settings.ADMIN_EMAIL, settings.ADMIN_PASSWORD = email, password
    with pytest.raises(ImproperlyConfigured, match=named):
        ensure_first_admin()
    with pytest.raises(CommandError, match=named):
        call_command("bootstrap")
    assert not User.objects.exists()


def test_a_weak_password_of_the_operator_is_taken_with_a_warning(settings, caplog):
    settings.ADMIN_EMAIL, settings.ADMIN_PASSWORD = "root@example.com", "short"
    assert ensure_first_admin() is None
    assert User.objects.get(email="root@example.com").check_password("short")
    assert "KB_ADMIN_PASSWORD is weak" in caplog.text


def test_an_existing_administrator_is_left_alone_by_the_environment(settings, administrator, password):
    settings.ADMIN_EMAIL, settings.ADMIN_PASSWORD = administrator.email, "quite another phrase"
    bootstrap()
    administrator.refresh_from_db()
    assert administrator.check_password(password)


def test_the_command_prints_the_link_as_an_address_to_open(settings):
    settings.HOST, settings.PORT = "127.0.0.1", 8123
    settings.BOOTSTRAP_STEPS = ["accounts.setup.bootstrap"]
    printed = StringIO()
    call_command("bootstrap", stdout=printed)
    address = printed.getvalue().strip().rsplit(" ", 1)[1]
    assert address.startswith("http://127.0.0.1:8123/first-start/")
    assert Client().get(address.removeprefix("http://127.0.0.1:8123")).status_code == 200


def test_a_site_on_every_address_is_opened_by_name(settings):
    settings.HOST = "0.0.0.0"
    (line,) = bootstrap()
    assert "http://localhost:" in line
