"""Which passage comes first, for the kinds of questions that searches of this sort are known to get wrong."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrieval.pipeline import search
from retrieval.search_settings import Fusion, SearchSettings
from retrieval.values import EvidenceLevel, Mode, SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf(library, reader):
    """Put texts, by title, into one collection that the reader may see."""
    collection = library.collection("Shelf", reader)

    def put(**texts):
        for title, text in texts.items():
            library.document(collection, title, text, language="zh" if title.startswith("中") else "en")

    return put


def first(reader, question, **wanted):
    found = search(SearchRequest(text=question, **wanted), principal=reader).passages
    return found[0].title if found else None


def test_polite_words_around_a_name_do_not_have_to_match(shelf, reader):
    shelf(name="MaxKB is a knowledge base for companies.", other="The canteen opens at noon.")
    assert first(reader, "请问什么是 maxkb", mode=Mode.LEXICAL) == "name"
    assert first(reader, "请问什么是 maxkb") == "name"


def test_a_chinese_word_is_found_without_any_set_up(shelf, reader):
    shelf(中文="健康是第一位的。健康检查每年一次，健康档案由人事保管。", 别的="食堂每天中午供应面条。")
    assert first(reader, "健康", mode=Mode.LEXICAL) == "中文"


def test_a_number_is_not_found_inside_another_number(shelf, reader):
    shelf(中级="全市二三级医院床位数共计五千张。", 中三="某市三级医院床位数共计三千张。")
    for mode in (Mode.HYBRID, Mode.LEXICAL):
        assert first(reader, "某市三级医院床位数", mode=mode) == "中三"


def test_a_long_name_that_all_share_does_not_drown_the_word_that_tells_them_apart(shelf, reader):
    name = "智慧园区一体化综合管理服务平台"
    shelf(
        中一=f"{name}登录失败怎么办", 中二=f"{name}发票开具怎么办", 中三=f"{name}门禁授权怎么办", 中四=f"{name}{name}"
    )  # fmt: skip
    for question, title in (("登录失败", "中一"), ("发票开具", "中二"), ("门禁授权", "中三")):
        assert first(reader, f"{name}{question}") == title
        assert first(reader, f"{name}{question}", mode=Mode.LEXICAL) == title


def test_a_quoted_phrase_is_meant_word_for_word(shelf, reader):
    shelf(apart="Hotel travel bill cap.", together="Travel bill, the\nhotel\n Cap.")
    assert first(reader, 'travel bill "hotel cap"') == "together"
    assert first(reader, "travel bill hotel cap") == "apart"


def test_lexical_scores_tell_better_from_worse(shelf, reader):
    shelf(best="valve gasket pump", good="valve gasket", fair="valve and other things of the plant")
    found = search(SearchRequest(text="valve gasket pump", mode=Mode.LEXICAL), principal=reader).passages
    scores = [passage.channels["lexical"].score for passage in found]
    assert [passage.title for passage in found] == ["best", "good", "fair"]
    assert scores == sorted(set(scores), reverse=True)


@pytest.mark.parametrize("fusion", list(Fusion))
def test_equal_passages_keep_one_order(shelf, reader, fusion):
    shelf(**{f"t{number}": "valve gasket" for number in range(6)})
    knobs = SearchSettings(fusion=fusion, fold=False, cache_seconds=0)
    request = SearchRequest(text="valve gasket", settings=knobs)
    runs = [[one.chunk_id for one in search(request, principal=reader).passages] for _ in range(3)]
    assert runs[0] == runs[1] == runs[2] == sorted(runs[0])


@pytest.mark.parametrize("fusion", list(Fusion))
def test_so_many_as_asked_for_come_all_with_their_score(shelf, reader, fusion):
    shelf(**{f"t{number}": f"valve number {number} of the press" for number in range(9)})
    knobs = SearchSettings(fusion=fusion, cache_seconds=0, fold=False)
    found = search(SearchRequest(text="valve of the press", top_k=3, settings=knobs), principal=reader)
    assert len(found.passages) == 3
    assert all(type(passage.score) is float for passage in found.passages)


def test_weights_count_however_many_collections_are_searched(library, reader):
    """In one collection or in several, alone or together: the ranking is the same and the weights decide it."""
    texts = {"words": "gasket gasket gasket", "meaning": "valve gasket of the old press in hall two"}
    for name in ("One", "Two"):
        collection = library.collection(name, reader)
        for title, text in texts.items():
            library.document(collection, title, text)

    def titles(**weights):
        knobs = SearchSettings(fusion=Fusion.MINMAX, fold=False, cache_seconds=0, **weights)
        request = SearchRequest(text="gasket", settings=knobs)
        return [passage.title for passage in search(request, principal=reader).passages]

    assert titles(meaning_share=0.0) == ["words", "words", "meaning", "meaning"]
    request = SearchRequest(text="valve gasket of the old press", settings=SearchSettings(cache_seconds=0))
    assert search(request, principal=reader).passages[0].title == "meaning"


@pytest.mark.parametrize(
    ("threshold", "count"), [(None, 2), (0, 2), (0.0, 2), (1e9, 0)], ids=["none", "0", "0.0", "high"]
)
def test_no_threshold_and_a_threshold_of_nought_are_bounds_of_their_own(shelf, reader, threshold, count):
    shelf(one="valve gasket", two="valve")
    knobs = SearchSettings(threshold=threshold, cache_seconds=0)
    found = search(SearchRequest(text="valve", settings=knobs), principal=reader).passages
    assert len(found) == count
    assert all(passage.score >= (threshold or 0) for passage in found)


def test_a_subject_that_no_document_speaks_of_is_refused(shelf, reader):
    shelf(leave="Ten days of annual leave.", badge="Lost badges are replaced in room 3.14.")
    found = search(SearchRequest(text="firewall"), principal=reader)
    assert found.evidence.level is EvidenceLevel.NONE
    assert search(SearchRequest(text="annual leave"), principal=reader).evidence.level is EvidenceLevel.ENOUGH


def test_a_question_is_embedded_once_and_candidates_are_bounded(shelf, reader, embedder):
    shelf(**{f"t{number}": f"valve number {number}" for number in range(30)})
    knobs = SearchSettings(pool=5, cache_seconds=0)
    with CaptureQueriesContext(connection) as queries:
        found = search(SearchRequest(text="valve number", settings=knobs), principal=reader)
    assert embedder.queries == ["valve number"]
    assert found.total_estimate <= 10  # the pool of two channels
    ranked = [one["sql"] for one in queries if "order by distance" in one["sql"]]
    assert ranked
    assert all("limit 5" in sql.lower() for sql in ranked)


# --- nothing of what is hidden, in any score ------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("fusion", list(Fusion))
def test_hidden_documents_change_no_score_of_any_ranking(shelf, library, reader, outsider, mode, fusion):
    shelf(one="The valve XK-200A of press 7.", two="A gasket for the valve.", three="Pumps and presses.")
    knobs = SearchSettings(fusion=fusion, cache_seconds=0)
    request = SearchRequest(text='"the valve" XK-200A gasket', mode=mode, settings=knobs)
    before = search(request, principal=reader)
    hidden = library.collection("Hidden", outsider)
    for number in range(12):
        library.document(hidden, f"H{number}", "The valve XK-200A, the gasket, the gasket of press 7.")
    after = search(request, principal=reader)
    assert after.passages == before.passages
    assert dict(after.idf) == dict(before.idf)
    assert (after.evidence, after.total_estimate) == (before.evidence, before.total_estimate)
