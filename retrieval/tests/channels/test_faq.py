"""Stored questions and their answers, as one reader gets them."""

import pytest

from accounts.values import Permission
from ingestion.faq import vectors
from ingestion.faq.folding import fold
from ingestion.faq.services import change_pair
from ingestion.faq.values import PairDraft
from ingestion.models import Document, FaqPair, FaqQuestion
from retrieval.filters import Filters
from retrieval.pipeline import search
from retrieval.search_settings import SearchSettings
from retrieval.tracing import visible_trace
from retrieval.values import Mode, SearchRequest

QUESTION, ANSWER = "How do I reset my VPN password?", "Call 8000 and ask for Kim."


@pytest.fixture
def faq(library):
    """`faq(collection, question, answer, *phrasings)`: a pair as the ordinary path leaves it, with its vectors."""

    def add(collection, question=QUESTION, answer=ANSWER, *phrasings) -> FaqPair:
        document = library.document(collection, question, f"{question}\n{answer}", is_faq=True)
        pair = FaqPair.objects.create(document=document, question=question, answer=answer, blob="0" * 64)
        FaqQuestion.objects.bulk_create(
            FaqQuestion(pair=pair, order=order, text=text, folded=fold(text))
            for order, text in enumerate((question, *phrasings))
        )
        vectors.embed_missing(library.embedder, seconds=5)
        return pair

    return add


@pytest.fixture
def shelf(library, reader):
    return library.collection("Help", reader)


def ask(text, who, **options):
    return search(SearchRequest(text=text, **options), principal=who)


def test_the_question_itself_gets_its_answer_cited_with_owner_and_date(faq, shelf, reader):
    pair = faq(shelf)
    Document.objects.filter(pk=pair.document_id).update(owner=reader.user_id)
    direct = ask("请问 HOW do I reset my ＶＰＮ password", reader).direct
    assert direct.kind == "faq"
    assert direct.text.startswith(f"{ANSWER} [1]\n\nFrom the FAQ of Help · Owner: reader · As of ")
    assert all(line.endswith("[1]") for line in direct.text.split("\n") if line)
    assert [passage.title for passage in direct.passages] == [QUESTION]
    assert direct.detail["match"] == "equal"
    assert direct.detail["owner"] == "reader"
    assert direct.detail["changed_at"] == pair.changed_at.isoformat()


def test_other_words_for_the_same_get_it_too_and_other_questions_do_not(faq, shelf, reader):
    faq(shelf)
    faq(shelf, "XK-200A 怎么校准？", "按住校准键。")
    assert ask("How can I reset the VPN password?", reader).direct.detail["match"] == "near"
    for other in (
        "How do I reset my mail password?",
        "Why reset my VPN password?",
        "XK-200B 怎么校准？",
        "VPN",
    ):
        assert ask(other, reader).direct is None, other


def test_a_wording_of_the_pair_counts_and_is_named(faq, shelf, reader):
    faq(shelf, QUESTION, ANSWER, "VPN密码忘了怎么办？")
    direct = ask("VPN密码忘了怎么办", reader).direct
    assert direct.detail["question"] == "VPN密码忘了怎么办？"
    assert direct.text.startswith(ANSWER)


def test_a_near_wording_lifts_its_passage_among_the_candidates(faq, shelf, library, reader):
    library.document(shelf, "Leave", "annual holidays are twenty five days in a year")
    faq(shelf, "Ferien", "25.", "how many holidays are there in one year")
    found = ask("how many holidays are there in a year for trainees", reader)
    assert found.direct is None
    assert found.passages[0].title == "Ferien"
    assert found.passages[0].channels["faq"].rank == 1


def test_hidden_pairs_answer_match_and_count_for_nobody(faq, library, reader, outsider):
    hidden = library.collection("Board", outsider)
    faq(hidden, "Who buys us?", "Nobody yet.")
    assert ask("Who buys us?", outsider).direct is not None
    found = ask("Who buys us?", reader)
    assert (found.direct, found.passages, found.total_estimate) == (None, (), 0)
    trace = visible_trace(reader, found.trace_id).trace
    assert "Nobody" not in str(trace.__dict__)
    open_one = library.collection("Open", reader)
    faq(open_one, "Who buys lunch?", "Kim.")
    explained = visible_trace(reader, ask("Who buys us?", reader).trace_id).trace.explanations["faq"]
    assert explained == {"equal": 0, "floor": 0.6}


def test_a_hidden_pair_changes_neither_scores_nor_answers_of_others(faq, library, shelf, reader, outsider):
    faq(shelf)
    before = [(p.title, p.score, dict(p.channels)) for p in ask(QUESTION, reader).passages]
    faq(library.collection("Board", outsider), QUESTION, "Something else.")
    found = ask(QUESTION, reader)
    assert [(p.title, p.score, dict(p.channels)) for p in found.passages] == before
    assert found.direct.text.startswith(ANSWER)


def test_a_right_taken_back_takes_the_answer_with_it(faq, library, shelf, reader):
    faq(shelf)
    assert ask(QUESTION, reader).direct
    library.revoke(shelf.scope, reader)
    assert ask(QUESTION, reader).direct is None


def test_brackets_of_the_answer_are_no_markers(faq, shelf, reader):
    faq(shelf, "Which form?", "Form [1] or [2].")
    assert ask("Which form?", reader).direct.text.startswith("Form ［1］ or ［2］. [1]")


def test_words_that_read_as_a_condition_may_be_words_of_a_stored_question(faq, library, shelf, reader):
    library.document(shelf, "Old rules", "nothing", doc_type="Policy")
    faq(shelf, "Where are documents of type policy kept?", "On the third floor.")
    assert ask("Where are documents of type policy kept?", reader).direct.text.startswith(
        "On the third floor."
    )


def test_two_pairs_that_disagree_answer_nothing(faq, library, shelf, reader):
    faq(shelf, "年假有几天？", "5天。")
    abroad = library.collection("Abroad", reader)
    other = faq(abroad, "年假有几天", "30天。")
    assert ask("年假有几天？", reader).direct is None
    only = Filters(collections=(str(abroad.uid),))
    assert ask("年假有几天？", reader, filters=only).direct.detail["answer"] == "30天。"
    FaqPair.objects.filter(pk=other.pk).update(answer=" 5 天。")
    assert ask("年假有几天？", reader).direct


def test_a_changed_pair_is_never_answered_with_its_old_words(faq, library, shelf, reader, monkeypatch):
    pair = faq(shelf)
    assert ask(QUESTION, reader).direct.detail["answer"] == ANSWER
    library.share(shelf.scope, reader, Permission.CONTRIBUTE)
    change_pair(actor=reader, pair=pair, draft=PairDraft(question=QUESTION, answer="Call 9000."))
    found = ask(QUESTION, reader)
    assert found.direct is None
    assert not any("8000" in passage.text for passage in found.passages)
    pair.refresh_from_db()
    library.publish(Document.objects.get(pk=pair.document_id), f"{QUESTION}\nCall 9000.")
    assert ask(QUESTION, reader).direct is None  # not a version of the file that the pair was made into
    FaqPair.objects.update(blob="0" * 64)
    assert ask(QUESTION, reader).direct.detail["answer"] == "Call 9000."


def test_archived_pairs_and_new_wordings_count_at_once(faq, shelf, reader):
    pair = faq(shelf)
    assert ask("Kennwort?", reader).direct is None
    FaqQuestion.objects.create(pair=pair, order=1, text="Kennwort?", folded=fold("Kennwort?"))
    vectors.tell_changed(list(pair.questions.all()))
    assert ask("Kennwort?", reader).direct
    Document.objects.filter(pk=pair.document_id).update(archived_at=pair.created_at)
    assert ask("Kennwort?", reader).direct is None


def test_switches(faq, shelf, reader, embedder):
    faq(shelf)
    other_words = "How can I reset the VPN password?"
    off, exact = SearchSettings(faq=False), SearchSettings(faq_similarity=None)
    assert ask(QUESTION, reader, settings=off).direct is None
    assert "faq" not in ask(QUESTION, reader, settings=off).degraded
    assert ask(QUESTION, reader, settings=exact).direct
    assert ask(other_words, reader, settings=exact).direct is None
    assert ask(QUESTION, reader, mode=Mode.LEXICAL).direct is None
    embedder.is_broken = True
    found = ask(QUESTION, reader)
    assert found.degraded == ("dense",)
    assert found.direct
    assert ask(other_words, reader).direct is None


def test_vectors_of_another_embedder_are_not_compared(faq, shelf, reader):
    faq(shelf)
    FaqQuestion.objects.update(embedder="another")
    assert ask("How can I reset the VPN password?", reader).direct is None
    assert ask(QUESTION, reader).direct
