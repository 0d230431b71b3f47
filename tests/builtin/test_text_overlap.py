"""EditDistance, Rouge and Bleu."""

import asyncio
import random
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks import Bleu, Check, EditDistance, Interaction, Not, Rouge, Trace
from giskard.checks.builtin._overlap import TooLong, edit_distance, rouge
from giskard.checks.builtin._words import words_of

KEY = "trace.last.outputs"
ALL = [
    EditDistance(expected_text="a fee", max_distance=1),
    Rouge(reference_text="a fee", min_score=0.5),
    Bleu(reference_text="a fee", min_score=0.5),
]


def run(check, outputs=None, **metadata):
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])
    return asyncio.run(check.run(trace))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


def metrics(result):
    return {metric.name: metric.value for metric in result.metrics}


# --- all ---------------------------------------------------------------------------------


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.kind)
@pytest.mark.parametrize("output", [None, ["a fee"], {"a": "fee"}, b"a fee", 5])
def test_what_is_no_text_is_an_error(check, output):
    result = run(check, output)
    assert result.errored and result.error_kind == "bad_type"
    assert type(output).__name__ in result.message and KEY in result.message
    assert status(Not(check=check), output) == "error"


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.kind)
def test_a_missing_text_is_an_error(check):
    for trace in (Trace(), Trace(interactions=[Interaction(inputs="q", outputs={"b": "a"})])):
        there = check.model_copy(update={"target_key": "trace.last.outputs.typo"})
        result = asyncio.run(there.run(trace))
        assert result.error_kind == "missing_value" and "trace.last.outputs.typo" in result.message


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.kind)
def test_a_literal_text_wins_over_the_path(check):
    assert asyncio.run(check.model_copy(update={"text": "A fee".lower()}).run(Trace())).passed


@pytest.mark.parametrize("cls", [EditDistance, Rouge, Bleu])
def test_the_reference_of_the_trace(cls):
    field = "expected_text" if cls is EditDistance else "reference_text"
    options = {"max_distance": 0} if cls is EditDistance else {"min_score": 1}
    check = cls(**{f"{field}_key": "trace.last.metadata.want"}, **options)

    assert status(check, "It is free of charge.", want="It is free of charge.") == "pass"
    assert status(check, "It is free of charge.", want="It costs 3 EUR a month.") == "fail"
    for want, kind in ((None, "bad_type"), (5, "bad_type"), ("", "missing_value")):
        result = run(check, "It is free.", want=want)
        assert result.error_kind == kind, result
    assert "trace.last.metadata.want" in run(check, "It is free.").message


@pytest.mark.parametrize(
    "check",
    [
        EditDistance(expected_text="a", max_distance=0),
        EditDistance(expected_text_key=KEY, min_similarity=0.5, unit="words", case_sensitive=False, name="n"),
        Rouge(reference_text=["a", "b"], min_score=0.5, variant="rouge1", measure="recall"),
        Rouge(reference_text_key="trace.annotations.references[*].text", min_score=1, normalization_form=None),
        Bleu(reference_text="a", min_score=0.5, tokenize="zh", case_sensitive=True),
    ],
    ids=repr,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is type(check) and loaded == check


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: EditDistance(max_distance=1), "neither was given"),
        (lambda: EditDistance(expected_text="a", expected_text_key=KEY, max_distance=1), "both were given"),
        (lambda: EditDistance(expected_text="a"), "every text passes"),
        (lambda: EditDistance(expected_text=" ", max_distance=1), "nothing in it to compare with"),
        (lambda: EditDistance(expected_text="!?", max_distance=1, unit="words"), "has no words"),
        (lambda: EditDistance(expected_text="a", max_distance=-1), "greater than or equal to 0"),
        (lambda: EditDistance(expected_text="a", min_similarity=90), "less than or equal to 1"),
        (lambda: EditDistance(expected_text="a", min_similarity=0), "greater than 0"),
        (lambda: Rouge(reference_text="a"), "Field required"),
        (lambda: Rouge(reference_text=[], min_score=0.5), "the list is empty"),
        (lambda: Rouge(reference_text=["a", ""], min_score=0.5), "nothing in it to compare with"),
        (lambda: Rouge(reference_text="--", min_score=0.5), "has no words"),
        (lambda: Rouge(reference_text="word", min_score=0.5, variant="rouge2"), "has no pair of words"),
        (lambda: Rouge(reference_text="a", min_score=0.5, variant="rouge3"), "variant"),
        (lambda: Bleu(reference_text="a", min_score=30), "less than or equal to 1"),
        (lambda: Bleu(reference_text="a", min_score=0.5, tokenize="flores200"), "tokenize"),
        (lambda: Bleu(min_score=0.5), "neither was given"),
    ],
)
def test_what_is_refused_when_it_is_built(make, words):
    with pytest.raises(ValidationError, match=words):
        make()


# --- EditDistance ------------------------------------------------------------------------


def by_table(one, other):
    """The textbook's table, row by row."""
    above = list(range(len(other) + 1))
    for row, left in enumerate(one, 1):
        line = [row]
        for column, right in enumerate(other, 1):
            line.append(min(above[column] + 1, line[-1] + 1, above[column - 1] + (left != right)))
        above = line
    return above[-1]


@given(st.text("abc\u0301\ud800漢", max_size=12), st.text("abc\u0301\ud800漢", max_size=12))
def test_the_distance_is_that_of_the_textbook(one, other):
    assert edit_distance(one, other) == edit_distance(other, one) == by_table(one, other)
    assert edit_distance(one, one) == 0
    assert edit_distance(list(one), list(other)) == by_table(one, other)


@given(st.text().filter(str.strip), st.text().filter(str.strip))
def test_the_distance_of_two_texts_is_the_same_either_way(one, other):
    there = run(EditDistance(expected_text=one, max_distance=0), other)
    back = run(EditDistance(expected_text=other, max_distance=0), one)
    assert there.details["distance"] == back.details["distance"]
    assert there.passed == back.passed == (there.details["distance"] == 0)
    assert status(EditDistance(expected_text=one, max_distance=0, min_similarity=1), one) == "pass"


def test_characters():
    check = EditDistance(expected_text="AB-0107", max_distance=1)
    result = run(check, "AB-1017")
    assert result.failed and metrics(result) == {"edit_distance": 2, "edit_similarity": 5 / 7}
    assert "2 characters, at most 1 was expected" in result.message and "'AB-0107'" in result.message
    assert run(check, "AB-0108").message == "the edit distance to 'AB-0107' is 1 character (the similarity is 0.86)"
    assert status(check, "") == "fail"


def test_words():
    check = EditDistance(expected_text="The fee is three euros.", max_distance=1, unit="words")
    assert status(check, "The fee is four euros") == "pass"
    assert "2 words, at most 1 was expected" in run(check, "The fee: four euros").message
    assert status(check, "!") == "fail"
    assert run(
        EditDistance(expected_text_key="trace.last.metadata.w", unit="words", max_distance=1), "a", w="!"
    ).message == ("nothing can be measured: the expected text has no words: '!'")


@pytest.mark.parametrize(
    ("distance", "length"), [(n, 10) for n in range(1, 10)] + [(1, 3), (2, 3), (7, 100), (33, 100)]
)
def test_the_least_similarity_is_allowed_itself(distance, length):
    text, expected = "x" * distance + "a" * (length - distance), "a" * length
    similarity = round(1 - distance / length, 4) if length != 3 else (length - distance) / length
    result = run(EditDistance(expected_text=expected, min_similarity=similarity), text)
    assert result.passed, result.message
    above = run(EditDistance(expected_text=expected, min_similarity=similarity + 0.004), text)
    assert above.failed
    shown = above.message.partition("the similarity is ")[2].partition(",")[0]
    assert float(shown) < similarity + 0.004


def test_spelling():
    for expected, text, options in [
        ("caf\u00e9", "cafe\u0301", {}),
        ("a b", " a \n b", {}),
        ("STRASSE", "straße", {"case_sensitive": False}),
    ]:
        assert status(EditDistance(expected_text=expected, max_distance=0, **options), text) == "pass"
    assert (
        status(EditDistance(expected_text="caf\u00e9", max_distance=0, normalization_form=None), "cafe\u0301") == "fail"
    )
    assert status(EditDistance(expected_text="Fee", max_distance=0), "fee") == "fail"


def test_long_texts():
    rng = random.Random(1)
    one, other = ("".join(rng.choices("abcd ", k=5_000_000)) for _ in range(2))
    check = EditDistance(expected_text=one, max_distance=100)
    start = time.process_time()
    assert status(check, one) == "pass"
    assert metrics(run(check, f"{one[:1000]}#{one[1000:]}"))["edit_distance"] == 1
    result = run(check, other)
    assert result.failed and "more than 100 characters" in result.message
    assert result.details["distance"] == "more than 100" and len(result.message) < 1_000
    undecided = run(EditDistance(expected_text=one, min_similarity=0.5), other)
    assert undecided.error_kind == "bad_type" and "too many to be compared" in undecided.message
    assert status(EditDistance(expected_text="a b", max_distance=1, unit="words"), other) == "fail"
    assert time.process_time() - start < 60


def test_what_takes_too_long_is_not_tried():
    with pytest.raises(TooLong):
        edit_distance("a" * 60_000, "b" * 60_000)
    assert edit_distance("a" * 60_000, "b" * 60_000, 5) is None
    with pytest.raises(TooLong):
        rouge(["a"] * 60_000, ["b"] * 60_000, "rougeL")


# --- Rouge -------------------------------------------------------------------------------

# Of Lin (2004), section 3: S1 is the reference.
S1, S2, S3 = "police killed the gunman", "police kill the gunman", "the gunman kill police"


@pytest.mark.parametrize(
    ("text", "reference", "variant", "precision", "recall"),
    [
        (S2, S1, "rougeL", 3 / 4, 3 / 4),
        (S3, S1, "rougeL", 2 / 4, 2 / 4),
        (S2, S1, "rouge2", 1 / 3, 1 / 3),
        (S3, S1, "rouge2", 1 / 3, 1 / 3),
        (S2, S1, "rouge1", 3 / 4, 3 / 4),
        ("the the the", "the cat", "rouge1", 1 / 3, 1 / 2),
        ("the cat sat", "the cat", "rouge1", 2 / 3, 1),
        ("the cat sat the cat", "the cat the cat", "rouge2", 2 / 4, 2 / 3),
        ("a b c d e", "a x c y e z", "rougeL", 3 / 5, 3 / 6),
        ("word", "two words", "rouge2", 0, 0),
        ("x", "a b", "rougeL", 0, 0),
    ],
)
def test_scores_that_were_counted_by_hand(text, reference, variant, precision, recall):
    found = rouge(text.split(), reference.split(), variant)
    assert found[:2] == pytest.approx((precision, recall))
    both = precision + recall
    assert found.f_measure == pytest.approx(2 * precision * recall / both if both else 0)


def by_subsets(one, other):
    """The length of the longest common subsequence, by trying."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + by_subsets(one[1:], other[1:])
    return max(by_subsets(one[1:], other), by_subsets(one, other[1:]))


words = st.lists(st.sampled_from(["a", "b", "c", "\ud800", "漢"]), min_size=1, max_size=7)


@given(words, words, st.sampled_from(["rouge1", "rouge2", "rougeL"]))
def test_laws_of_rouge(one, other, variant):
    found, back = rouge(one, other, variant), rouge(other, one, variant)
    assert all(0 <= share <= 1 for share in found)
    assert (found.precision, found.recall) == (back.recall, back.precision)
    assert min(found[:2]) - 1e-9 <= found.f_measure <= max(found[:2]) + 1e-9
    if variant == "rougeL":
        assert found.recall == pytest.approx(by_subsets(one, other) / len(other))
    if len(one) > 1:
        assert rouge(one, one, variant) == (1, 1, 1)


@given(st.text().filter(lambda text: len(words_of(text)) > 1), st.sampled_from(["rouge1", "rouge2", "rougeL"]))
def test_a_text_is_its_own_best_match(text, variant):
    assert status(Rouge(reference_text=text, min_score=1, variant=variant), text) == "pass"


def test_rouge():
    check = Rouge(reference_text=S1, min_score=0.6, variant="rouge1")
    result = run(check, f"{S3}!")
    assert result.passed
    assert result.message == "rouge1 f-measure is 0.75 (precision 0.75, recall 0.75), at least 0.6 was expected"
    assert metrics(result) == {"rouge1_precision": 0.75, "rouge1_recall": 0.75, "rouge1_f_measure": 0.75}
    assert result.details["score"] == 0.75 and result.details["min_score"] == 0.6


def test_the_measures():
    reference, text = "a b c d", "a b"
    assert status(Rouge(reference_text=reference, min_score=1, measure="precision"), text) == "pass"
    recall = run(Rouge(reference_text=reference, min_score=0.6, measure="recall"), text)
    assert recall.message == "rougeL recall is 0.50 (precision 1.00), at least 0.6 was expected"


def test_several_references():
    check = Rouge(reference_text=["x y", "a b c"], min_score=1)
    assert run(check, "a b c").details["closest"] == "a b c"
    assert status(check, "x y") == "pass" and status(check, "x b") == "fail"
    there = Rouge(reference_text_key="trace.last.metadata.r[*]", min_score=1)
    assert status(there, "a b", r=["c", "a b"]) == "pass"
    assert run(there, "a b", r=["c", "!"]).error_kind == "missing_value"


def test_scripts_without_spaces_and_spelling():
    assert metrics(run(Rouge(reference_text="今天天气很好", min_score=0.5), "今天天气不好"))[
        "rougeL_recall"
    ] == pytest.approx(5 / 6)
    assert status(Rouge(reference_text="The FEE", min_score=1), "the fee.") == "pass"
    assert status(Rouge(reference_text="The FEE", min_score=1, case_sensitive=True), "the fee.") == "fail"
    assert status(Rouge(reference_text="caf\u00e9", min_score=1), "cafe\u0301") == "pass"


@pytest.mark.parametrize("text", ["", " \n", "!?", "👍"])
def test_a_text_without_words_is_an_error(text):
    result = run(Rouge(reference_text="a", min_score=0.5), text)
    assert result.error_kind == "missing_value" and "has no words" in result.message


def test_a_score_just_below_does_not_look_as_if_it_were_enough():
    text, reference = "a " * 1999 + "b", "a " * 2000
    assert "is 0.999500" in run(Rouge(reference_text=reference, min_score=0.9999, measure="recall"), text).message


@pytest.mark.parametrize("unit", ["a", "\ud800", "\u200b", "\u202eא ", "e\u0301 ", "word ", "漢", "1,"])
def test_long_and_odd_texts(unit):
    text = unit * ((5_000_000 if unit == "word " else 500_000) // len(unit))
    start = time.process_time()
    for variant in ("rouge1", "rouge2", "rougeL"):
        result = run(Rouge(reference_text="a fee of 3 EUR", min_score=0.5, variant=variant), text)
        assert result.failed or result.error_kind in ("missing_value", "bad_type")
        assert len(result.message) < 2_000
    assert time.process_time() - start < 90


# --- Bleu --------------------------------------------------------------------------------


def test_bleu():
    check = Bleu(reference_text="The cat sat on the mat.", min_score=0.5)
    result = run(check, "The cat sat on a mat.")
    assert result.failed and result.message == "BLEU is 0.49, at least 0.5 was expected"
    # Of one to four words in a row 6/7, 4/6, 2/5 and 1/4 are in the reference.
    assert result.details["score"] == pytest.approx((6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25, abs=1e-6)
    assert metrics(result) == {"bleu": result.details["score"]}
    assert result.details["signature"].startswith("nrefs:1|case:lc|eff:yes|tok:13a|smooth:exp|version:")
    assert status(check, "Dogs bark.") == "fail"
    assert status(Bleu(reference_text="Yes", min_score=1), "yes") == "pass"


def test_bleu_by_hand():
    # Of one to four words in a row 3/3, 2/2, 1/1 and none are in the reference, which is twice as long.
    result = run(Bleu(reference_text="the cat sat on the mat", min_score=0.5), "the cat sat")
    assert result.details["score"] == pytest.approx(2.718281828 ** (1 - 6 / 3), abs=1e-6)


def test_several_references_and_tokens():
    several = Bleu(reference_text=["a b c d", "e f g h"], min_score=1)
    assert status(several, "e f g h") == "pass"
    assert "nrefs:2" in run(several, "e f g h").details["signature"]
    chinese = {"reference_text": "今天天气很好。", "min_score": 0.4}
    assert status(Bleu(**chinese), "今天天气不好。") == "fail"
    assert status(Bleu(tokenize="zh", **chinese), "今天天气不好。") == "pass"
    assert status(Bleu(reference_text="The fee", min_score=1, case_sensitive=True), "the fee") == "fail"


def test_an_empty_text_has_no_bleu():
    for text in ("", " \n"):
        result = run(Bleu(reference_text="a", min_score=0.5), text)
        assert result.error_kind == "missing_value" and "is empty" in result.message


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch):
    from giskard.checks.builtin import _overlap

    _overlap._bleu_metric.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "sacrebleu"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    result = run(Bleu(reference_text="a", min_score=0.5), "a")

    assert result.error_kind == "config"
    assert "pip install 'giskard-checks[bleu]'" in result.message


def test_no_text_is_remembered():
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    run(Bleu(reference_text="a fee", min_score=0.5), "another fee")
    assert Tokenizer13a.__call__.cache_info().currsize == 0


@pytest.mark.parametrize("unit", ["a", "\ud800", "\u200b", ".", "1.", "word "])
def test_what_is_too_long_for_bleu(unit):
    check = Bleu(reference_text="a fee", min_score=0.5)
    result = run(check, unit * (1_000_001 // len(unit) + 1))
    assert result.error_kind == "bad_type" and "too long for BLEU" in result.message
    start = time.process_time()
    assert status(check, unit * (50_000 // len(unit))) == "fail"
    assert time.process_time() - start < 30
