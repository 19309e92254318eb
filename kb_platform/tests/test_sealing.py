import pytest

from kb_platform.sealing import SecretLost, hint, is_sealed, seal, unseal


def test_a_sealed_secret_is_unreadable_and_opens_again():
    sealed = seal("sk-0123456789-秘")
    assert "0123456789" not in sealed
    assert unseal(sealed) == "sk-0123456789-秘"
    assert seal("sk") != seal("sk")
    assert seal("") == unseal("") == ""


def test_after_a_change_of_the_secret_key_only_fallbacks_open_it(settings):
    sealed, old = seal("sk"), settings.SECRET_KEY
    settings.SECRET_KEY = "another"
    with pytest.raises(SecretLost):
        unseal(sealed)
    assert not is_sealed(sealed)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert unseal(sealed) == "sk"


def test_only_a_long_secret_shows_its_end():
    assert hint(seal("0123456789ab9f2c")) == "9f2c"
    assert hint(seal("short")) == ""
    assert hint("garbage") == ""
