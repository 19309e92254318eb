import pytest

from retrieval.evidence import Support, assess, coverage, coverages, quoted_phrases
from retrieval.values import EvidenceLevel
from retrieval.weights import EvidenceBounds

IDF = {"hotel": 1.0, "cap": 1.0, "lisbon": 2.0}


def support(*terms, cosine=0.5, is_same_language=True):
    return Support(terms=frozenset(terms), cosine=cosine, is_same_language=is_same_language)


def test_coverage_is_the_share_of_idf_mass():
    assert coverage(frozenset({"lisbon"}), IDF) == 0.5
    assert coverage(frozenset({"hotel", "cap", "lisbon", "other"}), IDF) == 1
    assert coverage(frozenset({"hotel"}), {}) == 0


def test_nothing_found_is_no_evidence():
    assert assess([], IDF).level is EvidenceLevel.NONE


@pytest.mark.parametrize(
    ("cosine", "terms", "level"),
    [
        (0.40, (), EvidenceLevel.ENOUGH),  # near by meaning
        (0.10, ("lisbon",), EvidenceLevel.ENOUGH),  # near by words
        (0.10, ("hotel",), EvidenceLevel.NONE),
        (None, ("hotel",), EvidenceLevel.NONE),  # no vectors: words alone decide
        (None, ("hotel", "cap"), EvidenceLevel.ENOUGH),
    ],
)
def test_only_what_is_far_by_meaning_and_by_words_is_refused(cosine, terms, level):
    assert assess([support(*terms, cosine=cosine)], IDF).level is level


def test_words_in_a_passage_of_another_language_do_not_count():
    foreign = support("lisbon", cosine=0.1, is_same_language=False)
    assert assess([foreign], IDF).level is EvidenceLevel.NONE
    assert assess([support(cosine=0.3, is_same_language=False)], IDF).level is EvidenceLevel.ENOUGH


def test_coverage_counts_in_the_first_three_passages_and_the_best_cosine_in_all():
    far = support(cosine=0.1)
    verdict = assess([far, far, far, support("lisbon", cosine=0.2)], IDF)
    assert (verdict.level, verdict.coverage, verdict.cosine) == (EvidenceLevel.NONE, 0, 0.2)


def test_a_code_that_no_passage_holds_makes_the_evidence_weak():
    idf = {"version": 1.0, "12.0.0": 2.0}
    assert assess([support("version")], idf).level is EvidenceLevel.WEAK
    assert assess([support("version", "12.0.0")], idf).level is EvidenceLevel.ENOUGH


def test_whole_codes_are_told_from_numbers_and_quantities():
    idf = {"xk-200a": 4.0, "xk": 2.0, "200a": 2.0, "1963": 3.0, "15天": 3.0, "pump": 2.0}
    assert coverages(dict.fromkeys({"xk-200a", "200a"}, 1.0), idf).codes == pytest.approx(6 / 16)
    assert coverages(dict.fromkeys({"1963", "15天", "pump", "xk"}, 1.0), idf).codes == 0.0


def test_quoted_phrases_are_read_in_the_marks_of_both_languages():
    question = (
        'Where is "Grade P8 " said, “once  more”, 「三级医院」 or 《ＧＢ 手册》? It\'s "x" or "Grade P8".'
    )
    assert quoted_phrases(question) == ("grade p8", "once more", "三级医院", "gb 手册")
    assert quoted_phrases('an inch is 2.54 cm, 5" pipe') == ()


def test_bounds_are_those_of_the_settings():
    near = [support(cosine=0.3)]
    assert assess(near, IDF, EvidenceBounds(cosine=0.35)).level is EvidenceLevel.NONE
    assert assess(near, IDF, EvidenceBounds(cosine=0.35, coverage=0.0)).level is EvidenceLevel.ENOUGH
