"""Whatever calls another server by address goes through the one door, where its address is checked."""

import re
from pathlib import Path

from django.conf import settings

CLIENTS = re.compile(
    r"^\s*(?:import|from) (?:httpx|httpcore|requests|aiohttp|urllib3|urllib\.request|http\.client|smtplib|ftplib)\b",
    re.M,
)
EXEMPT = ("tests", "testing", "net", "embedded")  # the launcher asks its own site whether it is up
# A client that other people's programs import, and one that only names the errors of what the operator plugged in.
EXEMPT_FILES = {"retrieval/integrations/langchain.py", "retrieval/channels/external/langchain.py"}


def test_no_other_module_has_an_http_client():
    found = [
        str(path.relative_to(settings.BASE_DIR))
        for app in ("kb_platform", "accounts", "ingestion", "retrieval")
        for path in (settings.BASE_DIR / app).rglob("*.py")
        if not set(EXEMPT) & set(path.relative_to(settings.BASE_DIR).parts)
        and CLIENTS.search(Path(path).read_text())
    ]
    assert set(found) <= EXEMPT_FILES
