import os

import polib
import pytest
from django.utils import translation

from kb_platform import translations


@pytest.fixture
def catalogue(tmp_path, settings):
    settings.LOCALE_PATHS = [tmp_path]
    folder = tmp_path / "zh_Hans" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    path = folder / "django.po"

    def write(*entries):
        po = polib.POFile()
        po.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Plural-Forms": "nplurals=1; plural=0;"}
        po.extend(polib.POEntry(**entry) for entry in entries)
        po.save(str(path))
        return path

    return write


def test_a_complete_catalogue_has_no_gaps(catalogue):
    path = catalogue(
        {"msgid": "Save", "msgstr": "保存"},
        {"msgid": "%(n)d file", "msgid_plural": "%(n)d files", "msgstr_plural": {0: "%(n)d 个文件"}},
    )
    assert list(translations.gaps(path)) == []


def test_gaps_are_named(catalogue):
    path = catalogue(
        {"msgid": "One"},
        {"msgid": "Two", "msgstr": "二", "flags": ["fuzzy"]},
        {"msgid": "%(n)d left", "msgstr": "还剩"},
        {"msgid": "Old", "msgstr": "旧", "obsolete": True},
    )
    assert [gap.split(":")[0] for gap in translations.gaps(path)] == [
        "untranslated",
        "fuzzy",
        "placeholders differ",
        "unused",
    ]


def test_compiling_writes_once_until_the_catalogue_changes(catalogue):
    path = catalogue({"msgid": "Save", "msgstr": "保存"})
    target = translations.compile_catalogue(path)
    assert polib.mofile(str(target))[0].msgstr == "保存"
    assert translations.compile_catalogue(path) is None
    os.utime(target, (0, 0))
    assert translations.compile_catalogue(path) == target


def test_the_products_own_catalogue_is_complete():
    paths = translations.catalogues()
    assert [path.parents[1].name for path in paths] == ["zh_Hans"]
    assert list(translations.gaps(paths[0])) == []


def test_pages_speak_chinese_once_compiled():
    for path in translations.catalogues():
        translations.compile_catalogue(path)
    translation.trans_real._translations.clear()
    with translation.override("zh-hans"):
        assert translation.gettext("Ask the knowledge base") == "向知识库提问"
