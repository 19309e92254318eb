"""The settings of one run."""

from dataclasses import fields

import pytest

from kb_platform.runtime_config import declarations
from kb_platform.runtime_config.declarations import settings_of
from retrieval.debugger.knobs import as_field, knob_settings, with_values
from retrieval.search_settings import Fusion, SearchSettings, current

pytestmark = pytest.mark.django_db


def test_all_that_is_set_on_the_search_page_can_be_set_for_one_run(configure):
    configure(declarations.RERANKER, "tei")
    knobs = {setting.field for setting in knob_settings()}
    assert {setting.field for setting in settings_of("retrieval")} <= knobs
    assert {knob.name for knob in fields(SearchSettings)} <= knobs


def test_a_choice_becomes_what_the_search_compares_with():
    assert as_field(Fusion.EVIDENCE, "rrf") is Fusion.RRF
    assert as_field(None, 0.5) == 0.5


def test_values_of_an_old_trace_that_can_no_longer_be_set_are_left_out():
    knobs = {knob.setting.field: knob for knob in with_values(current(), {"pool": 3, "rrf_k": 61, "gone": 1})}
    assert not knobs["pool"].is_changed
    assert (knobs["rrf_k"].is_changed, knobs["rrf_k"].typed) == (True, 61)
