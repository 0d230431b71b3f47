"""NoPII: what is found, what is not, what is shown of it, and how long it takes."""

import asyncio
import json
import random
import sys
import time
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks import Check, Interaction, NoPII, Not, TestCase, Trace
from giskard.checks.builtin import _pii, _pii_numbers
from giskard.checks.builtin._pii import PATTERN_CATEGORIES, TooManyNumbers, find_pii
from giskard.checks.builtin._pii_numbers import iban_end, is_card

KEY = "trace.last.outputs"
# Put together here, so that nobody takes them for keys that leaked.
KEYS = [
    "sk-" + "proj-" + "a1B2" * 8,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2" * 9,
    "glpat-" + "a1B2" * 5,
    "xoxb-" + "1234-" * 4 + "abc",
    "AIza" + "a1B2_" * 7,
    "sk_live_" + "a1B2" * 6,
    "hf_" + "a1B2" * 9,
    "eyJ" + "hbGciOiJIUzI1" + "." + "eyJ" + "zdWIiOiIxMjM0" + "." + "a1B2c3D4e5",
    "-----BEGIN " + "RSA PRIVATE KEY-----",
]


def T(outputs=None, **metadata):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def run(check, outputs=None, **metadata):
    return asyncio.run(check.run(T(outputs, **metadata)))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


def found_in(text, *countries):
    return [(one.category, text[one.start : one.end]) for one in find_pii(text, PATTERN_CATEGORIES, countries)]


# --- what is found -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "value"),
    [
        ("email", "jane.doe@example.org"),
        ("email", "jane+tag@mail.example.co.uk"),
        ("email", "müller@bücher.example"),
        ("credit_card", "4111 1111 1111 1111"),
        ("credit_card", "4111-1111-1111-1111"),
        ("credit_card", "5555555555554444"),
        ("credit_card", "2223003122003222"),
        ("credit_card", "378282246310005"),
        ("credit_card", "3782 822463 10005"),
        ("credit_card", "6011111111111117"),
        ("credit_card", "30569309025904"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "GB82WEST12345698765432"),
        ("iban", "FR14 2004 1010 0505 0001 3M02 606"),
        ("iban", "NO9386011117947"),
        ("ip_address", "8.8.8.8"),
        ("ip_address", "2001:4860:4860::8888"),
        ("national_id", "536-90-4399"),
        ("national_id", "RSSMRA85T10A562S"),
        ("national_id", "756.9217.0769.85"),
        ("national_id", "123.456.789-09"),
        ("national_id", "12345678Z"),
        ("phone", "+49 30 901820"),
        ("phone", "+1 (415) 555-2671"),
        ("phone", "0044 20 7946 0958"),
        *(("secret", key) for key in KEYS),
    ],
)
def test_what_is_found(category, value):
    for text in (value, f"Here: {value}.", f"({value})", f"a, {value}, b", f"\n{value}\n"):
        assert found_in(text) == [(category, value)], text


@pytest.mark.parametrize(
    "text",
    [
        "The fee is 3.50 EUR, 1,000,000 times.",
        "On 2024-05-24 at 10:00:00, or 24.05.2024.",
        "Order 1234567812345678, flight HAT123, reservation 4WQ150.",
        "4111 1111 1111 1112",
        "0000 0000 0000 0000",
        "14111111111111111",
        "4111111111111111.5",
        "DE89 3704 0044 0532 0130 01",
        "DE00 0000",
        "XX89 3704 0044 0532 0130 00",
        "10.0.0.1, 127.0.0.1, 192.168.1.1, 192.0.2.1, 999.1.1.1, ::1, fe80::1",
        "version 1.2.3.4, v8.8.8.8, 1.2.3.4.5",
        "12:30:45, aa:bb:cc:dd:ee:ff, C++::vector",
        "000-12-3456, 666-12-3456, 900-12-3456, 123-00-1234, 123-45-0000",
        "@jane, jane@, jane@localhost, a@b@c",
        "+1, +123, +0 123 456 789, call 555-2671",
        "sk-learn, AKIA123, ghp_short, task-force-with-a-long-name-of-many-words",
        "RSSMRA85T10A562X",
        "👍 漢字 \ud800",
        "x.1.2.3.4.5, lib.so.8.8.8.8, ver.8.8.8.8, 1.8.8.8.8",
        "4111111111111111.50, 4111111111111111.123456, 3.4111111111111111, 4111-1111-1111-1111-1111",
        "4111\n1111\n1111\n1111\n2222\n, 2222\t4111\t1111\t1111\t1111",
        "1.536-90-4399, 536-90-4399-1, A1-536-90-4399, 1234567T-abcd-4000-8000-000000000000",
        "flag-sk-a-long-name-of-many-words, 3.+",
        "&#64;, jane&#9999999;example.org, &&&#;&#x;",
        "",
    ],
)
def test_what_is_not_found(text):
    assert found_in(text) == []


@pytest.mark.parametrize(
    ("text", "category", "value"),
    [
        ("Card no.4111 1111 1111 1111.", "credit_card", "4111 1111 1111 1111"),
        ("Your card is 4111111111111111- thanks", "credit_card", "4111111111111111"),
        ("4111-1111-1111-1111-", "credit_card", "4111-1111-1111-1111"),
        ("4111111111111111.2027", "credit_card", "4111111111111111"),
        ("4111111111111111.12/27", "credit_card", "4111111111111111"),
        *(
            (f"x {gap.join(['4111', *['1111'] * 3])} y", "credit_card", gap.join(["4111", *["1111"] * 3]))
            for gap in ("  ", "\t", "\n", "\r\n", ".", "/", "\u2014", " - ")
        ),
        ("Tel.+49 30 90182011", "phone", "+49 30 90182011"),
        ("SSN.536-90-4399", "national_id", "536-90-4399"),
        ("jane,536-90-4399- ok", "national_id", "536-90-4399"),
        ("_DE89370400440532013000", "iban", "DE89370400440532013000"),
        ("-DE89370400440532013000_", "iban", "DE89370400440532013000"),
        ("DE89\n3704\n0044\n0532\n0130\n00", "iban", "DE89\n3704\n0044\n0532\n0130\n00"),
        ("DE89.3704.0044.0532.0130.00.", "iban", "DE89.3704.0044.0532.0130.00"),
        (f"key_{KEYS[1]}", "secret", KEYS[1]),
        ("-sk-abcdefghijklmnopqrstuvwx", "secret", "sk-abcdefghijklmnopqrstuvwx"),
        *((f"{before}{key}", "secret", key) for key in KEYS for before in ("_", "-", "key_", "my-key-")),
        ("server.8.8.8.8", "ip_address", "8.8.8.8"),
        ("jane&#64;example.org", "email", "jane&#64;example.org"),
        ("é jane&#x40;example&#46;or&#103;!", "email", "jane&#x40;example&#46;or&#103;"),
        ("a&shy;b &#106;ane&commat;exa&#8203;mple.org.", "email", "&#106;ane&commat;exa&#8203;mple.org"),
    ],
)
def test_what_stands_beside_it_or_within_it_hides_nothing(text, category, value):
    assert found_in(text) == [(category, value)]


def test_what_follows_an_account_is_looked_at_too():
    ibans = ["DE89370400440532013000", "GB82WEST12345698765432", "NO9386011117947"]
    assert found_in("\n".join(ibans)) == [("iban", iban) for iban in ibans]
    assert status(NoPII(allow=["4111 1111 1111 1111"]), "4111\u20141111\u20141111\u20141111") == "pass"


def test_several():
    text = "Mail jane@example.org, card 4111 1111 1111 1111 (IBAN DE89370400440532013000), +49 30 901820."
    assert [category for category, _ in found_in(text)] == ["email", "credit_card", "iban", "phone"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("jane\u200b.doe@exam\u00adple.org", "jane\u200b.doe@exam\u00adple.org"),
        ("\ufeffmail ｊａｎｅ＠example．org!", "ｊａｎｅ＠example．org"),
        ("x ４１１１ １１１１ １１１１ １１１１ y", "４１１１ １１１１ １１１１ １１１１"),
        ("٤١١١ ١١١١ ١١١١ ١١١١", "٤١١١ ١١١١ ١١١１ ١١١١".replace("１", "١")),
        ("4111\u00a01111\u00a01111\u00a01111", "4111\u00a01111\u00a01111\u00a01111"),
        ("536\u201190\u20114399", "536\u201190\u20114399"),
        ("\u202e4111111111111111\u202c.", "4111111111111111"),
        ("é\u200b\u200b 8.8.\u200b8.8 é", "8.8.\u200b8.8"),
    ],
)
def test_places_are_those_of_the_text_whatever_hides_it(text, value):
    [one] = find_pii(text, PATTERN_CATEGORIES)
    assert text[one.start : one.end] == value


@given(st.text("a1.@ \u200b\u00adé漢+-", max_size=40), st.text("a1 \u200b\u00adé漢", max_size=40))
def test_an_address_is_found_between_any_words(before, after):
    text = f"{before} jane@example.org {after}"
    assert "jane@example.org" in {text[one.start : one.end] for one in find_pii(text, ["email"])}


def luhn(digits):
    return digits + next(str(check) for check in range(10) if by_table(digits + str(check)))


def by_table(digits):
    """Luhn's checksum, digit by digit."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + place % 2)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


@given(st.integers(0, 10**14 - 1), st.integers(0, 14), st.integers(1, 9))
def test_a_wrong_digit_makes_no_card(number, place, shift):
    card = luhn("4" + f"{number:014d}")
    assert is_card(card)
    wrong = card[:place] + str((int(card[place]) + shift) % 10) + card[place + 1 :]
    assert not is_card(wrong)


def test_ibans_are_those_of_the_library():
    from stdnum import iban

    rng = random.Random(1)
    for _ in range(2_000):
        country = rng.choice(list(_pii_numbers._IBAN_LENGTHS))
        rest = "".join(rng.choices("0123456789", k=_pii_numbers._IBAN_LENGTHS[country] - 4))
        check = 98 - int("".join(str(int(char, 36)) for char in f"{rest}{country}00")) % 97
        number = f"{country}{check:02d}{rest}"
        assert iban_end(number) == len(number)
        assert iban.calc_check_digits(number) == number[2:4]
        assert iban_end(f"{country}{(check + 1) % 100:02d}{rest}") is None


def test_how_many_countries_have_numbers_that_are_found_without_naming_them():
    distinct = {number.country for number in _pii_numbers.national_numbers(())}
    assert f"of {len(distinct)} countries" in " ".join((NoPII.__doc__ or "").split())


@pytest.mark.parametrize("number", _pii_numbers._NUMBERS, ids=lambda number: number.module)
def test_each_number_has_a_check(number):
    _pii_numbers._stdnum(number.module)
    assert not _pii_numbers.is_national_number(number, "x")


def test_countries():
    text = "Ruf 030 901820 oder 0176 12345678 an."
    assert found_in(text) == []
    assert found_in(text, "DE") == [("phone", "030 901820"), ("phone", "0176 12345678")]
    assert found_in("steuer-id 65 929 970 489", "DE") == [("national_id", "65 929 970 489")]
    assert found_in("bsn 111222333", "NL") == [("national_id", "111222333")]
    assert found_in("bsn 111222333") == []
    assert found_in("(415) 555-2671", "US") == [("phone", "(415) 555-2671")]


# --- verdicts ----------------------------------------------------------------------------


def test_what_the_result_says_and_what_it_keeps_to_itself():
    text = "Write to jane.doe@example.org, or call +49 30 901820; card 4111 1111 1111 1111."
    result = run(NoPII(), text)
    assert result.failed
    assert result.message == (
        "3 pieces of personal data: email j***@e***.org at 9..29; phone +49***20 at 39..52; "
        "credit_card ***1111 at 59..78"
    )
    assert [(metric.name, metric.value) for metric in result.metrics] == [("pii_found", 3)]
    assert result.details["found"][0] == {"category": "email", "masked": "j***@e***.org", "start": 9, "end": 29}
    case = TestCase(trace=T(text), checks=[NoPII()]).run_sync()
    [full] = case.results
    for written in (json.dumps(full.model_dump(mode="json")), str(full), full.summary()):
        for secret in ("jane", "901820", "4111", "doe"):
            assert secret not in written

    clean = run(NoPII(), "It is free.")
    assert clean.passed and clean.message == "no personal data of 7 kinds was found in 11 characters"
    assert clean.details["found"] == [] and clean.details["checked_by"]["phonenumbers"]


@pytest.mark.parametrize("value", ["jane@example.org", "a@b.co", "4111111111111111", "8.8.8.8", "536-90-4399", *KEYS])
def test_masks_hide(value):
    [one] = find_pii(value, PATTERN_CATEGORIES)
    assert "***" in one.masked
    shown = one.masked.replace("***", "")
    assert len(shown) <= max(4, len(value) // 2)


def test_many_are_named_in_part():
    result = run(NoPII(), "".join(f"a{n}@example.org " for n in range(2_000)))
    assert result.message.startswith("at least 1,000 pieces of personal data: ")
    assert result.message.endswith("and 990 more") and len(result.details["found"]) == 100


def test_categories():
    text = "jane@example.org and 8.8.8.8"
    assert status(NoPII(categories=["iban", "phone"]), text) == "pass"
    assert run(NoPII(categories=["ip_address"]), text).message.startswith("1 piece of personal data: ip_address 8***")
    assert run(NoPII(categories=["iban"]), "a").message == "no personal data of 1 kind was found in 1 characters"


def test_what_is_allowed():
    text = "Mail help@example.org or Jane@Example.org, or call +49 30 901820."
    assert status(NoPII(allow=["help@example.org", "jane@example.org", "+49-30-90 18 20"]), text) == "pass"
    assert status(NoPII(allow=["@example.org", "+4930901820"]), text) == "pass"
    assert run(NoPII(allow=["help@example.org", "+49 30 901820"]), text).metrics[0].value == 1
    assert status(NoPII(allow=["jane.doe@example.org"]), "janedoe@example.org") == "fail"
    assert status(NoPII(allow=["@example.org"]), "jane@sub.example.org") == "fail"


def test_what_the_user_said_may_be_repeated():
    check = NoPII(allow_key="trace.interactions[*].inputs")
    trace = Trace(
        interactions=[
            Interaction(inputs="I am jane@example.org, +49 30 901820", outputs="Hello!"),
            Interaction(inputs="Well?", outputs="I wrote to JANE@example.org and called +49 (30) 901820."),
        ]
    )
    assert asyncio.run(check.run(trace)).passed
    assert asyncio.run(NoPII().run(trace)).failed
    assert status(check, "Write to joe@example.org") == "fail"
    result = run(NoPII(allow_key="trace.last.metadata.said"), "a b", said=[5])
    assert result.error_kind == "bad_type" and "allow_key" in result.message
    assert run(NoPII(allow_key="trace.last.metadata.said"), "a b").error_kind == "missing_value"


@pytest.mark.parametrize("output", [None, ["jane@example.org"], {"a": "jane@example.org"}, b"jane@example.org", 5])
def test_what_is_no_text_is_an_error_that_does_not_show_it(output):
    result = run(NoPII(), output)
    assert result.error_kind == "bad_type" and type(output).__name__ in result.message and KEY in result.message
    assert "jane" not in result.message and "jane" not in json.dumps(result.model_dump(mode="json"))
    assert status(Not(check=NoPII()), output) == "error"


def test_nothing_to_look_at_is_an_error():
    for text in ("", " \n"):
        assert run(NoPII(), text).error_kind == "missing_value"
    assert asyncio.run(NoPII().run(Trace())).error_kind == "missing_value"
    assert asyncio.run(NoPII(text="free").run(Trace())).passed
    assert asyncio.run(NoPII(text="").run(Trace())).errored


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"categories": []}, "at least 1 item"),
        ({"categories": ["birthday"]}, "categories"),
        ({"categories": ["name"]}, "name have no pattern"),
        ({"countries": ["Germany"]}, "countries"),
        ({"countries": ["de"]}, "countries"),
        ({"allow": [" "]}, "give the value itself"),
        ({"engine": "spacy"}, "engine"),
        ({"allow_key": "inputs"}, "starts with 'trace.'"),
        ({"category": ["email"]}, "did you mean 'categories'"),
    ],
)
def test_what_is_refused_when_it_is_built(fields, words):
    with pytest.raises(ValidationError, match=words):
        NoPII(**fields)


@pytest.mark.parametrize(
    "check",
    [
        NoPII(),
        NoPII(categories=["email", "phone"], countries=["DE"], allow=["@example.org"], allow_key="trace.last.inputs"),
        NoPII(engine="presidio", categories=["name"], spacy_model="de_core_news_sm", name="n"),
    ],
    ids=repr,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is NoPII and loaded == check


# --- with and without the packages -------------------------------------------------------


@pytest.fixture
def without_packages(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("stdnum", "phonenumbers")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("stdnum", "phonenumbers", "presidio_analyzer", "spacy"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(_pii, "_is_installed", lambda _: False)


@pytest.mark.usefixtures("without_packages")
def test_what_is_found_without_a_package():
    assert found_in("+49 30 901820, +1 2, 030 901820") == [("phone", "+49 30 901820")]
    assert found_in("536-90-4399, 000-12-3456") == [("national_id", "536-90-4399")]
    assert found_in("4111 1111 1111 1111") == [("credit_card", "4111 1111 1111 1111")]
    assert status(NoPII(), "It is free.") == "pass"


@pytest.mark.usefixtures("without_packages")
@pytest.mark.parametrize(
    ("check", "text", "extra"),
    [
        (NoPII(countries=["DE"]), "030 901820", "pii"),
        (NoPII(countries=["NL"], categories=["national_id"]), "111222333", "pii"),
        (NoPII(engine="presidio"), "Jane", "presidio"),
    ],
    ids=repr,
)
def test_a_missing_package_is_an_error_that_says_what_to_install(check, text, extra):
    from giskard.checks.builtin import _presidio

    _presidio._engine.cache_clear()
    result = run(check, text)
    assert result.error_kind == "config"
    assert f"pip install 'giskard-checks[{extra}]'" in result.message


def test_a_library_that_stumbles_finds_nothing():
    # A region that is in the library's list without a county.
    rng = random.Random(3)
    for _ in range(3_000):
        find_pii("".join(rng.choices("0123456789", k=18)), ["national_id"])


class FakePresidio:
    """What is used of Presidio and spaCy: a pipeline finds the name Jane and the place Vienna."""

    def __init__(self):
        self.asked = []
        self.nlp_engine = self

    def load(self, model):
        if model != "pipeline":
            raise OSError(f"Can't find model {model!r}")
        return SimpleNamespace(lang="en")

    def SpacyNlpEngine(self, models):
        return SimpleNamespace(models=models, nlp=None)

    def RecognizerRegistry(self, supported_languages):
        return SimpleNamespace(load_predefined_recognizers=lambda **_: None)

    def AnalyzerEngine(self, registry, nlp_engine, supported_languages):
        assert list(nlp_engine.nlp) == supported_languages == ["en"]  # given its pipeline, it loads none
        return self

    def analyze(self, text, language, entities, score_threshold):
        self.asked.append((language, entities))
        words = {"PERSON": "Jane", "LOCATION": "Vienna"}
        return [
            SimpleNamespace(entity_type=entity, start=text.index(word), end=text.index(word) + len(word))
            for entity, word in words.items()
            if entity in entities and word in text
        ]


@pytest.fixture
def fake_presidio(monkeypatch):
    from giskard.checks.builtin import _presidio

    fake = FakePresidio()
    _presidio._engine.cache_clear()
    for name in ("presidio_analyzer", "spacy"):
        monkeypatch.setitem(sys.modules, name, fake)
    yield fake
    _presidio._engine.cache_clear()


def test_what_presidio_is_asked_for(fake_presidio):
    check = NoPII(engine="presidio", spacy_model="pipeline")
    result = run(check, "In Vienna, ask Jane: jane@example.org")
    assert result.message == (
        "3 pieces of personal data: place V*** at 3..9; name J*** at 15..19; email j***@e***.org at 21..37"
    )
    assert status(check.model_copy(update={"categories": ["name"]}), "In Vienna") == "pass"
    assert status(check.model_copy(update={"allow": ["jane"]}), "Ask Jane") == "pass"
    assert status(check.model_copy(update={"allow_key": "trace.last.inputs", "text": "q Jane"}), "x") == "fail"
    assert fake_presidio.asked[:2] == [("en", ["PERSON", "LOCATION"]), ("en", ["PERSON"])]
    too_long = run(check, "a " * 30_000)
    assert too_long.error_kind == "bad_type" and "too long for Presidio" in too_long.message
    missing = run(NoPII(engine="presidio", spacy_model="en_core_web_lg"), "Ask Jane")
    assert missing.error_kind == "config" and "python -m spacy download en_core_web_lg" in missing.message


needs_presidio = pytest.mark.skipif(
    find_spec("presidio_analyzer") is None, reason="the extra 'presidio' is not installed"
)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    import spacy

    folder = tmp_path_factory.mktemp("pipeline")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Jane Doe"}, {"label": "GPE", "pattern": "Vienna"}])
    nlp.to_disk(folder)
    return str(folder)


@needs_presidio
def test_names_by_presidio(pipeline):
    check = NoPII(engine="presidio", spacy_model=pipeline)
    result = run(check, "Jane Doe of Vienna: jane@example.org")
    assert result.message == (
        "3 pieces of personal data: name J*** at 0..8; place V*** at 12..18; email j***@e***.org at 20..36"
    )
    assert status(check, "It is free.") == "pass"
    assert status(NoPII(engine="presidio", spacy_model=pipeline, categories=["place"]), "Jane Doe") == "pass"
    assert (
        status(NoPII(engine="presidio", spacy_model=pipeline, allow=["jane doe", "VIENNA"]), "Jane Doe, Vienna")
        == "pass"
    )
    assert run(check, "a " * 30_000).error_kind == "bad_type"


@needs_presidio
def test_a_missing_pipeline_is_an_error_and_no_download(pipeline):
    result = run(NoPII(engine="presidio", spacy_model="en_core_web_lgg"), "Jane Doe")
    assert result.error_kind == "config" and "python -m spacy download en_core_web_lgg" in result.message


# --- size --------------------------------------------------------------------------------

UNITS = [
    "1",
    "1 ",
    "4111 ",
    "a",
    "a@",
    "@",
    "a.",
    "a" * 63 + "@" + "b" * 63 + " ",
    "eyJ-",
    "eyJaaaaaaaaa ",
    "sk-",
    ":",
    "a:",
    "1.1.1.",
    "DE89 ",
    "DE893704 ",
    "+1 ",
    "-",
    "2024-05-24 ",
    " ",
    "漢",
    "\ud800",
    "\u200b",
    "1\u200b",
    "&#64;",
    "&",
    "1\n",
    "4111\n",
    "4111\u2014",
    "eyJaaaaaaaaa-",
    "eyJaaaaaaaaa.",
    "_sk-",
    "-SG.",
    "_DE89",
    "DE89.\n",
    "\u202eא",
    "the fee is 3 euros. ",
]


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_time_grows_with_the_length(unit):
    def seconds(characters):
        text = unit * (characters // len(unit))
        start = time.process_time()
        find_pii(text, PATTERN_CATEGORIES)
        return time.process_time() - start

    short = min(seconds(20_000) for _ in range(3))
    assert seconds(200_000) < 60 * max(short, 0.004)


@pytest.mark.parametrize("unit", ["1 ", "the fee is 3 euros. "])
def test_a_megabyte(unit):
    start = time.process_time()
    assert find_pii(unit * (1_000_000 // len(unit)), PATTERN_CATEGORIES) == []
    assert time.process_time() - start < 20


def test_more_numbers_than_can_be_looked_at():
    numbers = "12345678901 " * 20_000
    with pytest.raises(TooManyNumbers):
        find_pii(numbers, ["national_id"])
    result = run(NoPII(), numbers)
    assert result.error_kind == "bad_type" and "more than 10,000 numbers" in result.message
    assert status(NoPII(), f"jane@example.org {numbers}") == "fail"


def conversation(*outputs):
    return Trace(interactions=[Interaction(inputs="q", outputs=text) for text in outputs])


def test_a_list_of_texts_is_searched_text_by_text():
    check = NoPII(target_key="trace.interactions[*].outputs")
    result = asyncio.run(check.run(conversation("Hi.", None, "Write to a.b@example.org.", "Or c.d@example.org.")))

    assert result.failed and result.details["turn"] == 2
    assert "email a***@e***.org at 9..24 in item 3; email c***@e***.org at 3..18 in item 4" in result.message
    assert [found["item"] for found in result.details["found"]] == [2, 3]
    fine = asyncio.run(check.run(conversation("Hi.", None)))
    assert fine.passed and fine.message.endswith("was found in 3 characters of 1 text")


@pytest.mark.parametrize("outputs", [(), (None, None), ("", " ")])
def test_a_list_without_a_text_is_an_error(outputs):
    result = asyncio.run(NoPII(target_key="trace.interactions[*].outputs").run(conversation(*outputs)))

    assert (result.status, result.error_kind) == ("error", "missing_value")


def test_what_is_no_text_in_a_list_is_named_and_not_shown():
    trace = conversation("Hi.", {"secret": "a.b@example.org"})
    result = asyncio.run(NoPII(target_key="trace.interactions[*].outputs").run(trace))

    assert (result.status, result.error_kind) == ("error", "bad_type")
    assert "item 2" in result.message and "example.org" not in result.message
