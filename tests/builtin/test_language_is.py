"""LanguageIs: which language a text is in, and when that cannot be told."""

import asyncio
import sys
import threading
import time

import pytest
from pydantic import ValidationError

from giskard.checks import Check, Interaction, LanguageIs, Not, TestCase, Trace
from giskard.checks.builtin import _language

SENTENCES = {
    "en": "Your account costs three euros a month.",
    "de": "Ihr Konto kostet drei Euro im Monat.",
    "fr": "Votre compte coûte trois euros par mois.",
    "es": "Su cuenta cuesta tres euros al mes.",
    "it": "Il suo conto costa tre euro al mese.",
    "pt": "A sua conta custa três euros por mês.",
    "nl": "Uw rekening kost drie euro per maand.",
    "pl": "Twoje konto kosztuje trzy euro miesięcznie.",
    "ru": "Ваш счёт стоит три евро в месяц.",
    "el": "Ο λογαριασμός σας κοστίζει τρία ευρώ τον μήνα.",
    "ar": "يكلف حسابك ثلاثة يورو شهريا.",
    "hi": "आपके खाते का शुल्क तीन यूरो प्रति माह है।",
    "ko": "계좌 비용은 한 달에 3유로입니다.",
    "ja": "口座の料金は月額3ユーロです。",
    "zh": "您的账户每月收费三欧元。",
}
ENGLISH = SENTENCES["en"]


def T(outputs=None, **metadata):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def run(check, outputs=None, **metadata):
    return asyncio.run(check.run(T(outputs, **metadata)))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


@pytest.mark.parametrize("code", SENTENCES)
def test_sentences(code):
    other = "fr" if code == "en" else "en"
    assert status(LanguageIs(language=code), SENTENCES[code]) == "pass"
    assert status(LanguageIs(language=other), SENTENCES[code]) == "fail"


def test_what_the_result_says():
    result = run(LanguageIs(language=["de-AT", "fr"]), ENGLISH)
    confidence = result.details["confidence"]
    assert result.failed
    assert result.message == (
        f"the language is 'en' (confidence {confidence:.2f}), 'de' or 'fr' was expected: {ENGLISH!r}"
    )
    assert [(metric.name, metric.value) for metric in result.metrics] == [("language_confidence", confidence)]
    assert result.details["language"] == "en" and result.details["expected"] == ["de", "fr"]
    assert result.details["model"].startswith("py3langid==")
    assert run(LanguageIs(language="en"), ENGLISH).message == f"the language is 'en' (confidence {confidence:.2f})"


@pytest.mark.parametrize("tag", ["zh", "ZH", "zh-Hans", "zh_CN", "cmn"])
def test_tags(tag):
    assert status(LanguageIs(language=tag), SENTENCES["zh"]) == "pass"


def test_the_language_of_the_trace():
    check = LanguageIs(language_key="trace.last.metadata.language")
    assert status(check, ENGLISH, language="en-GB") == status(check, ENGLISH, language=["de", "en"]) == "pass"
    assert status(check, ENGLISH, language="de") == "fail"
    for language, kind in ((None, "bad_type"), (5, "bad_type"), ("English", "bad_type"), ("", "missing_value")):
        result = run(check, ENGLISH, language=language)
        assert result.error_kind == kind and "language_key" in result.message
    assert run(check, ENGLISH).error_kind == "missing_value"


@pytest.mark.parametrize(
    "text", ["", " \n", "OK", "Yes.", "12345 678", "👍👍👍👍👍👍", "你好", "```\nfor x in range(3): pass\n```"]
)
def test_too_little_text_is_an_error(text):
    check = LanguageIs(language="en")
    result = run(check, text)
    assert result.error_kind == "missing_value"
    assert "too few to tell a language" in result.message or "is empty" in result.message
    assert status(Not(check=check), text) == "error"


def test_how_much_is_enough():
    assert status(LanguageIs(language="en", min_letters=16), "I can help with that.") == "pass"
    result = run(LanguageIs(language="en", min_letters=17), "I can help with that.")
    assert result.message.startswith("16 letters are too few to tell a language, at least 17 are needed: ")
    assert status(LanguageIs(language="zh", min_letters=15), "您好，世界") == "error"
    assert status(LanguageIs(language="zh", min_letters=15), "您好，今天天气很好") == "pass"


def test_a_text_without_a_language(monkeypatch):
    monkeypatch.setattr("giskard.checks.builtin.language_is.find_language", lambda _: _language.Language("zxx", 0.9))
    result = run(LanguageIs(language="en"), ENGLISH)
    assert result.error_kind == "missing_value" and "no language in the text" in result.message


def test_how_sure_is_enough():
    unsure = run(LanguageIs(language="en", min_letters=1, min_confidence=0.5), "Hello")
    assert unsure.errored and "at least 0.5 is needed for a verdict" in unsure.message
    assert status(LanguageIs(language="en", min_confidence=0.5), ENGLISH) == "pass"


def test_code_and_addresses_are_left_out():
    german = "So geht es: ```python\n" + "print('the end of all the things in the world')\n" * 9 + "``` Das ist alles."
    assert status(LanguageIs(language="de"), german) == "pass"
    assert status(LanguageIs(language="de", ignore_code=False), german) == "fail"
    link = "Mehr steht hier geschrieben: " + "https://example.com/all-the-things-that-there-are-in-the-world " * 9
    assert status(LanguageIs(language="de"), link) == "pass"
    assert status(LanguageIs(language="de", ignore_urls=False), link) == "fail"
    assert _language.prose_of("a `b` c www.d.e f@g.h ```i", code=True, urls=True).split() == ["a", "c"]


@pytest.mark.parametrize("output", [None, [ENGLISH], {"a": ENGLISH}, b"text", 5])
def test_what_is_no_text_is_an_error(output):
    result = run(LanguageIs(language="en"), output)
    assert result.error_kind == "bad_type" and type(output).__name__ in result.message


def test_a_missing_text_is_an_error():
    assert asyncio.run(LanguageIs(language="en").run(Trace())).error_kind == "missing_value"
    assert asyncio.run(LanguageIs(language="en", text=ENGLISH).run(Trace())).passed


def test_a_language_that_the_model_does_not_know_is_an_error():
    result = run(LanguageIs(language="xx"), ENGLISH)
    assert result.error_kind == "config" and "does not know the language 'xx'" in result.message
    assert " de, " in result.message and "zxx" not in result.message


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(_language._Loaded, "model", None)
    monkeypatch.setitem(sys.modules, "py3langid", None)
    result = run(LanguageIs(language="en"), ENGLISH)

    assert result.error_kind == "config"
    assert "pip install 'giskard-checks[lang]'" in result.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "neither was given"),
        ({"language": "en", "language_key": "trace.annotations.l"}, "both were given"),
        ({"language": []}, "the list is empty"),
        ({"language": "english"}, "no code of a language"),
        ({"language": ["en", ""]}, "no code of a language"),
        ({"language": "zxx"}, "no code of a language"),
        ({"language": "en", "min_confidence": 1.5}, "less than or equal to 1"),
        ({"language": "en", "min_letters": 0}, "greater than or equal to 1"),
        ({"languages": "en"}, "did you mean 'language'"),
    ],
)
def test_what_is_refused_when_it_is_built(fields, words):
    with pytest.raises(ValidationError, match=words):
        LanguageIs(**fields)


@pytest.mark.parametrize(
    "check",
    [
        LanguageIs(language="pt-BR"),
        LanguageIs(language=["en", "de"], min_confidence=0.5, min_letters=5, ignore_code=False, name="n"),
        LanguageIs(language_key="trace.annotations.language", text="a", ignore_urls=False),
    ],
    ids=repr,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is LanguageIs and loaded == check


def test_the_model_is_loaded_once_by_many_threads(monkeypatch):
    monkeypatch.setattr(_language._Loaded, "model", None)
    loads = []

    def load():
        loads.append(1)
        time.sleep(0.05)
        return original()

    original = _language._load
    monkeypatch.setattr(_language, "_load", load)
    found = []
    threads = [
        threading.Thread(target=lambda text=text: found.append(_language.find_language(text).code))
        for text in list(SENTENCES.values())[:6]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(loads) == 1
    assert sorted(found) == sorted(list(SENTENCES)[:6])


def test_others_may_restrict_the_languages_of_the_library():
    from py3langid import langid

    before = langid.IDENTIFIER
    try:
        langid.set_languages(["fr"])
        assert status(LanguageIs(language="en"), ENGLISH) == "pass"
    finally:
        langid.IDENTIFIER = before


def test_many_at_once():
    checks = [LanguageIs(language=code, text=text) for code, text in SENTENCES.items()]
    TestCase(trace=T("x"), checks=checks).run_sync().assert_passed()


@pytest.mark.parametrize(
    "unit", ["a", "`", "```", "`a", "\ud800", "\u200b", "\u202eא", "e\u0301", "a@", "the fee is ", "漢", "```\n"]
)
def test_long_and_odd_texts(unit):
    text = unit * ((5_000_000 if unit == "the fee is " else 500_000) // len(unit))
    start = time.process_time()
    result = run(LanguageIs(language="en"), text)

    assert result.failed or result.passed or result.error_kind == "missing_value"
    assert len(result.message) < 2_000
    assert time.process_time() - start < 20
