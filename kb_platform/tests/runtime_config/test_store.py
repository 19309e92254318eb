import pytest
from django.db import DatabaseError

from kb_platform.checks import locked_settings_are_valid
from kb_platform.models import ConfigStamp, ConfigValue
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import LARGEST_FILE, SESSION_HOURS, SETTINGS, SITE_NAME

pytestmark = pytest.mark.django_db


def test_every_default_is_within_its_own_bounds():
    for setting in SETTINGS.values():
        assert setting.clean(setting.default) == setting.default
        assert setting.shown(setting.default)


def test_a_value_holds_from_the_next_request_in_every_process(configure):
    store.begin_request()
    assert store.get(SESSION_HOURS) == 12
    ConfigValue.objects.create(name=SESSION_HOURS.name, value=3, changed_by_name="another process")
    ConfigStamp.objects.create(pk=1, stamp="6a6e4c8e-7f2f-4ed1-b44e-5a8e7c1b5f10")
    assert store.get(SESSION_HOURS) == 12  # one request sees one state
    store.begin_request()
    assert store.get(SESSION_HOURS) == 3


def test_a_request_asks_the_database_once(configure, django_assert_num_queries):
    configure(SITE_NAME, "Yuanchuan")
    store.begin_request()
    store.get(SITE_NAME)
    store.begin_request()
    with django_assert_num_queries(1):
        assert store.get(SITE_NAME) == "Yuanchuan"
        assert store.get(SESSION_HOURS) == 12


def test_the_last_values_hold_while_the_database_is_away(configure, monkeypatch):
    configure(SITE_NAME, "Yuanchuan")
    store.begin_request()
    assert store.get(SITE_NAME) == "Yuanchuan"

    def away(*_arguments, **_named):
        raise DatabaseError("gone")

    monkeypatch.setattr(ConfigStamp.objects, "values_list", away)
    store.begin_request()
    assert store.get(SITE_NAME) == "Yuanchuan"


def test_a_stored_value_outside_of_todays_bounds_counts_as_the_default(configure):
    configure(SESSION_HOURS, 3)
    ConfigValue.objects.update(value=100_000)
    ConfigStamp.objects.update(stamp="6a6e4c8e-7f2f-4ed1-b44e-5a8e7c1b5f11")
    store.begin_request()
    assert store.get(SESSION_HOURS) == 12


def test_the_environment_wins_and_a_bad_value_stops_the_start(configure, settings):
    settings.RUNTIME_OVERRIDES = {LARGEST_FILE.name: "7"}
    assert store.get(LARGEST_FILE) == 7
    assert locked_settings_are_valid(None) == []
    settings.RUNTIME_OVERRIDES = {LARGEST_FILE.name: "lots", "uploads.nothing": "1"}
    assert {error.id for error in locked_settings_are_valid(None)} == {"kb.E002", "kb.E003"}
