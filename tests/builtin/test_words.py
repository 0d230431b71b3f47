"""The words of texts in any script."""

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.builtin._words import count_letters, count_words, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("It's 3.50 EUR, 1,000 times.", ["it's", "3.50", "eur", "1,000", "times"]),
        ("a,b;c", ["a", "b", "c"]),
        ("it\u2019s", ["it's"]),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("see example.com.", ["see", "example.com"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("caf\u00e9 cafe\u0301", ["caf\u00e9", "caf\u00e9"]),
        ("天气很好", ["天", "气", "很", "好"]),
        ("ラーメンを食べる", list("ラーメンを食べる")),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("👍 🙂 !? --", []),
        ("a\ud800b", ["a", "b"]),
        ("\u0301 a", ["a"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),
        ("Blatt 7天", ["blatt", "7", "天"]),
    ],
)
def test_the_words_of_a_text(text, words):
    assert words_of(text) == words
    assert count_words(text) == len(words)


def test_case_and_spelling_are_kept_when_asked_for():
    assert words_of("Fee \ufb01ne", case_sensitive=True) == ["Fee", "fine"]
    assert words_of("Fee \ufb01ne", case_sensitive=True, normalization_form=None) == ["Fee", "\ufb01ne"]
    assert words_of("Fee \ufb01ne", normalization_form="NFC") == ["fee", "fine"]  # case folding takes it apart


def test_letters():
    assert count_letters("ab1 c!") == 3
    assert count_letters("天气") == 6
    assert count_letters("ü漢7") == 4
    assert count_letters("한국") == 6


@given(st.text(st.characters(max_codepoint=127)))
def test_the_way_for_ascii_is_the_way_for_all(text):
    assert words_of(text) == words_of(text + " ü")[:-1]
    assert count_words(text) == count_words(text + " ü") - 1


@given(st.text(st.characters(codec=None)))
def test_words_are_what_is_left_of_a_text(text):
    words = words_of(text, case_sensitive=True, normalization_form=None)
    assert len(words) == count_words(text)
    assert all(regex.search(r"[\p{L}\p{N}_]", word) for word in words)
    assert words_of(" ".join(words), case_sensitive=True, normalization_form=None) == words


@pytest.mark.parametrize(
    "unit",
    ["a", "ä", "a.", "ä.", "ä'", "1,", "ä1,", "\u0301", "漢\u0301", "\u200d", "ä\u200d", " ", "-", "word ", "\ud800"],
)
def test_time_grows_with_the_length(unit):
    def seconds(characters):
        text = unit * (characters // len(unit))
        start = time.process_time()
        count_words(text)
        words_of(text)
        return time.process_time() - start

    short = min(seconds(50_000) for _ in range(3))
    assert min(seconds(500_000) for _ in range(2)) < 60 * max(short, 0.002)
