import pytest

from accounts.values import SystemActor
from kb_platform.errors import InvalidInput
from kb_platform.models import AuditEntry
from kb_platform.runtime_config import services, store
from kb_platform.runtime_config.declarations import (
    FILE_TYPES,
    LARGEST_FILE,
    SCORE_THRESHOLD,
    SESSION_HOURS,
    SITE_NAME,
)

pytestmark = pytest.mark.django_db
ADA, BO = SystemActor(name="Ada"), SystemActor(name="Bo")


def change(actor, setting, value, **named):
    return services.change(actor=actor, values={setting.name: value}, **named)


def test_a_change_is_audited_with_before_and_after():
    change(ADA, SESSION_HOURS, 4)
    entry = AuditEntry.objects.get(action="setting.changed")
    assert (entry.actor_name, entry.object_id, entry.detail) == (
        "Ada",
        "access.session_hours",
        {"before": 12, "after": 4},
    )


def test_saving_what_is_there_already_changes_and_records_nothing():
    assert change(ADA, SESSION_HOURS, 12) == []
    assert not AuditEntry.objects.exists()


def test_a_bound_can_be_set_taken_away_again_and_none_is_not_zero():
    for value in (0.0, None, 2.5, None):
        change(ADA, SCORE_THRESHOLD, value)
        assert store.get(SCORE_THRESHOLD) == value
    assert services.read_import(services.export_text().encode())[SCORE_THRESHOLD.name] is None


def test_the_second_of_two_administrators_is_told_and_nothing_of_hers_is_written():
    change(ADA, SESSION_HOURS, 4, seen={SESSION_HOURS.name: 12})
    with pytest.raises(services.ChangedMeanwhile) as refused:
        change(BO, SESSION_HOURS, 8, seen={SESSION_HOURS.name: 12})
    assert "Ada" in str(refused.value)
    assert store.get(SESSION_HOURS) == 4


def test_two_administrators_with_different_settings_do_not_meet():
    change(ADA, SESSION_HOURS, 4, seen={SESSION_HOURS.name: 12})
    assert change(BO, SITE_NAME, "远川", seen={SITE_NAME.name: ""}) == [SITE_NAME.name]


def test_what_the_environment_sets_cannot_be_changed(settings):
    settings.RUNTIME_OVERRIDES = {LARGEST_FILE.name: "7"}
    with pytest.raises(InvalidInput):
        change(ADA, LARGEST_FILE, 9)


def test_an_export_comes_back_by_import_and_unnamed_settings_return_to_their_defaults():
    change(ADA, SITE_NAME, "远川")
    change(ADA, FILE_TYPES, ("pdf", "csv"))
    text = services.export_text()
    assert "远川" in text
    change(ADA, SITE_NAME, "Other")
    change(ADA, SESSION_HOURS, 4)
    services.change(actor=ADA, values=services.read_import(text.encode()))
    assert (store.get(SITE_NAME), store.get(FILE_TYPES), store.get(SESSION_HOURS)) == (
        "远川",
        ("pdf", "csv"),
        12,
    )


ALIASES = b"a0: &a0 {x: y}\n" + b"".join(  # each line ten times the one before
    b"a%d: &a%d {<<: [%s]}\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)
)


@pytest.mark.parametrize(
    "content",
    [
        b"general: {colour: red}",
        b"secrets: {password: x}",
        b"access: {session_hours: 0}",
        b"access: {session_hours: true}",
        b"access: {session_hours: [1]}",
        b"uploads: {types: [exe]}",
        b"uploads: {types: [[pdf]]}",
        b"[1, 2]",
        b"general: 1",
        b"a: b: c",
        b"\xff\xfe\x00",
        b"!!python/object/apply:os.system ['true']",
        b"x" * 200_000,
        b"general: {0x" + b"f" * 9000 + b": 1}",
        ALIASES,
    ],
)
def test_a_file_that_is_not_understood_is_refused_whole(content):
    with pytest.raises(InvalidInput):
        services.read_import(content)
