import pytest
from django.core.management import CommandError, call_command

from ingestion.embedding.conversion import FOLDER
from ingestion.testing import bundled_model_dir


def test_it_says_where_the_model_is(settings, capsys):
    settings.MODEL_DIR = bundled_model_dir()
    call_command("prepare_embedder")
    line = capsys.readouterr().out
    assert FOLDER in line
    assert " s: " in line


def test_an_unusable_setting_ends_with_a_sentence(settings):
    settings.EMBEDDER = "/no/such/folder"
    with pytest.raises(CommandError, match="/no/such/folder"):
        call_command("prepare_embedder")
