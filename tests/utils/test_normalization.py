"""One spelling for texts that a reader takes for the same."""

import unicodedata
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from unittest.mock import call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.utils import normalization
from giskard.checks.utils.normalization import fold_string, normalize_data, normalize_string

FORMS = ["NFC", "NFD", "NFKC", "NFKD"]
forms = st.sampled_from(FORMS)
texts = st.one_of(
    st.text(),
    st.text(st.characters(categories=["Zs", "Zl", "Zp", "Mn", "Lu", "Ll", "Sk", "Cc", "Cs"])),
)


@pytest.mark.parametrize(
    ("text", "form", "want"),
    [
        ("  a \t b\n", "NFKC", "a b"),
        ("", "NFKC", ""),
        (" \n ", "NFC", ""),
        ("cafe\u0301", "NFC", "caf\u00e9"),
        ("caf\u00e9", "NFD", "cafe\u0301"),
        ("\ufb01ne \u2460", "NFKC", "fine 1"),
        ("\ufb01ne", "NFC", "\ufb01ne"),
        ("a\u00a0\u2003b", "NFC", "a b"),
        ("\u3000全角\u3000", "NFKC", "全角"),
        (" \u00a8x", "NFKC", "\u0308x"),
        ("\ud800 ok", "NFKC", "\ud800 ok"),
    ],
)
def test_normal_forms_and_white_space(text, form, want):
    assert normalize_string(text, form) == want


def test_default_form_is_nfkc_and_none_changes_nothing():
    assert normalize_string("\ufb01  x ") == "fi x"
    assert normalize_string("\ufb01  x ", None) == "\ufb01  x "
    assert normalize_data([" a "], None) == [" a "]


@given(texts, forms)
def test_normalising_twice_is_normalising_once(text, form):
    once = normalize_string(text, form)
    assert normalize_string(once, form) == once


@given(texts, forms)
def test_the_result_is_in_its_form_and_has_single_blanks(text, form):
    once = normalize_string(text, form)
    assert unicodedata.is_normalized(form, once)
    assert once == " ".join(once.split())


@given(texts, forms)
def test_long_texts_come_out_as_short_ones_do(text, form):
    long = (text + " ") * (600 // (len(text) + 1) + 1)
    assert normalize_string(long, form) == normalization._normalize(long, form)
    assert fold_string(long, form) == normalization._fold(long, form)


@given(texts, forms)
def test_folding_has_no_letter_case_left(text, form):
    folded = fold_string(text, form)
    assert fold_string(folded, form) == folded


@given(st.text(st.characters(codec="utf-8")), forms)
def test_folding_matches_all_spellings_of_a_text(text, form):
    spellings = {fold_string(unicodedata.normalize(f, text), form) for f in ("NFC", "NFD")}
    assert len(spellings) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HAUPTSTRASSE", "Hauptstraße"),
        ("hauptstra\u1e9ee", "HAUPTSTRASSE"),
        ("\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c2"),  # final sigma
        ("\ufb00", "FF"),
        ("\u00c5ngstr\u00f6m", "A\u030aNGSTRO\u0308M"),
        ("\u212bngstr\u00f6m", "\u00e5NGSTR\u00d6M"),  # the sign of the unit
        ("\u0390", "\u03b9\u0308\u0301"),
        ("KELVIN", "\u212aelvin"),
        ("A  b", "a B"),
    ],
)
def test_texts_that_match_without_regard_to_case(one, other):
    for form in FORMS:
        assert fold_string(one, form) == fold_string(other, form)


def test_folding_without_a_form_folds_letters_only():
    assert fold_string(" STRASSE  ß", None) == " strasse  ss"
    assert fold_string("A  B", None) == "a  b"
    assert fold_string("cafe\u0301", None) != fold_string("caf\u00e9", None)


def test_data_is_normalised_in_its_values_and_copied():
    Point = namedtuple("Point", "x y")
    given_ = {
        " key ": " a  b ",
        "list": [" x ", 1, None, True, b" raw "],
        "tuple": (" y ", [" z "]),
        "point": Point(" p ", 2),
        "set": {" s ", 3},
        "frozen": frozenset({" f "}),
        "proxy": MappingProxyType({"k": " v "}),
    }
    out = normalize_data(given_)
    assert out == {
        " key ": "a b",
        "list": ["x", 1, None, True, b" raw "],
        "tuple": ("y", ["z"]),
        "point": Point("p", 2),
        "set": {"s", 3},
        "frozen": frozenset({"f"}),
        "proxy": {"k": "v"},
    }
    assert type(out["point"]) is Point
    assert type(out["frozen"]) is frozenset
    assert given_[" key "] == " a  b " and given_["list"][0] == " x "


def test_text_and_other_objects_at_the_top():
    marker = object()
    assert normalize_data(" a ") == "a"
    assert normalize_data(marker) is marker
    assert normalize_data(3.5) == 3.5
    recorded = call(" a ", k=" b ")
    assert normalize_data(recorded) is recorded


def test_shared_and_cyclic_data():
    shared = [" a "]
    out = normalize_data([shared, shared])
    assert out == [["a"], ["a"]]
    loop: list = [" a "]
    loop.append(loop)
    out = normalize_data(loop)
    assert out[0] == "a" and out[1] is out
    ring: dict = {"k": " v "}
    ring["self"] = ring
    out = normalize_data(ring)
    assert out["k"] == "v" and out["self"] is out


def test_a_long_text_is_normalised_once(monkeypatch):
    calls = []
    real = unicodedata.normalize

    class Counting:
        @staticmethod
        def normalize(form, text):
            calls.append(form)
            return real(form, text)

    monkeypatch.setattr(normalization, "unicodedata", Counting)
    text = "été " * 500
    for _ in range(20):
        normalize_string(text)
    assert len(calls) == 1


def test_memory_of_long_texts_is_bounded():
    for i in range(100):
        normalize_string(f"{i} é" * 300)
    assert normalization._normalize_long.cache_info().currsize <= 16


def test_threads_share_the_memory_safely():
    long = [f"{i} é  " * 200 for i in range(40)]
    want = [normalization._normalize(t, "NFKC") for t in long]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(normalize_string, long)) == want
