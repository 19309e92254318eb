import ast
import re
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
    """The action codes that a module passes to `record`, as patterns: a code may be put together."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "record" and len(node.args) > 1:
            yield from patterns(node.args[1])


def patterns(node):
    if isinstance(node, ast.JoinedStr):
        parts = [re.escape(part.value) if isinstance(part, ast.Constant) else r"\w+" for part in node.values]
        yield "".join(parts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    else:
        for inner in ast.iter_child_nodes(node):
            yield from patterns(inner)


def test_every_recorded_action_has_a_name_in_both_languages():
    codes = {code for path in SOURCES for code in recorded(path)}
    assert re.escape("user.created") in codes
    assert [code for code in codes if not any(re.fullmatch(code, name) for name in NAMES)] == []
    for code in sorted(NAMES):
        with translation.override("en"):
            english = str(NAMES[code])
        with translation.override("zh-hans"):
            assert str(NAMES[code]) != english
