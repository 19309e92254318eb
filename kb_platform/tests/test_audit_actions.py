import ast
from pathlib import Path

from django.conf import settings
from django.utils import translation

from kb_platform.audit_actions import NAMES

SOURCES = [
    path
    for app in ("kb_platform", "accounts", "ingestion", "retrieval")
    for path in sorted((Path(settings.BASE_DIR) / app).rglob("*.py"))
    if "tests" not in path.parts
]


def recorded(path):
    """The action codes that a module passes to `record`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "record" and len(node.args) > 1:
            for part in ast.walk(node.args[1]):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_every_recorded_action_has_a_name_in_both_languages():
    codes = {code for path in SOURCES for code in recorded(path)}
    assert "user.created" in codes
    assert codes - NAMES.keys() == set()
    for code in sorted(NAMES):
        with translation.override("en"):
            english = str(NAMES[code])
        with translation.override("zh-hans"):
            assert str(NAMES[code]) != english
