"""Commands under test use the servers of the run, as they would use those of a running site."""

import io

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from kb_platform.embedded import session
from kb_platform.embedded.lock import Holder
from kb_platform.embedded.processes import ServiceError
from kb_platform.management.service_command import ServiceCommand


class CountTables(ServiceCommand):
    needs_workers = True

    def run(self, **options: object) -> str:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 'answered'")
            return str(cursor.fetchone()[0])


@pytest.mark.django_db
def test_services_of_whoever_holds_the_folder_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "database_services", lambda: pytest.fail("the run has them already"))
    monkeypatch.setattr(session, "worker_services", lambda **_: pytest.fail("the holder runs workers"))
    printed = io.StringIO()
    call_command(CountTables(stdout=printed))
    assert printed.getvalue().strip() == "answered"


@pytest.mark.django_db
def test_a_holder_whose_databases_do_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "READY_TIMEOUT_S", 0.0)
    monkeypatch.setattr(session, "_is_usable", lambda: False)
    with pytest.raises(ServiceError, match=r"Process 7 \(manage.py up\)"):
        session._wait_until_usable(Holder(pid=7, command="manage.py up", has_workers=True))


def test_what_is_wrong_with_a_service_is_one_sentence_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise ServiceError("No room here")

    monkeypatch.setattr("kb_platform.management.service_command.ensure_services", refuse)
    with pytest.raises(CommandError, match="No room here"):
        call_command(CountTables())
