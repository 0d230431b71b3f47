"""Readability formulas, and the counts that they are made of."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.builtin._readability import METRICS, TextCounts, _easy_words, count_text, readability
from giskard.checks.builtin._syllables import count_syllables

# What textstat 0.7.8 says of these texts (its syllables come from the CMU dictionary).
SIMPLE = (
    "The quick brown fox jumps over the lazy dog. It was a sunny day. Everyone was happy, and the children played"
    " in the garden until the evening came."
)
MEDIUM = (
    "Playing games has always been thought to be important to the development of well-balanced and creative children;"
    " however, what part, if any, they should play in the lives of adults has never been researched that deeply. I"
    " believe that playing games is every bit as important for adults as for children. Not only is taking time out to"
    " play games with our children and other adults valuable to building interpersonal relationships but is also a"
    " wonderful way to release built up tension."
)
HARD = (
    "The implementation of comprehensive regulatory frameworks necessitates considerable institutional collaboration."
    " Notwithstanding the aforementioned difficulties, policymakers continue to investigate alternative methodologies"
    " for evaluating organisational performance."
)
ORACLE = {
    SIMPLE: {"flesch_reading_ease": (82.55, 4), "flesch_kincaid_grade": (4.06, 0.6), "gunning_fog": (3.73, 0.1),
             "automated_readability_index": (3.25, 1), "coleman_liau_index": (4.85, 0.5)},
    MEDIUM: {"flesch_reading_ease": (44.97, 3), "flesch_kincaid_grade": (13.78, 0.5), "gunning_fog": (13.37, 3),
             "automated_readability_index": (15.44, 1), "coleman_liau_index": (11.13, 0.5),
             "dale_chall_readability_score": (8.27, 1)},
    HARD: {"flesch_reading_ease": (-112.02, 10), "flesch_kincaid_grade": (31.87, 1.5), "gunning_fog": (34.8, 2),
           "automated_readability_index": (32.45, 1), "coleman_liau_index": (39.97, 1),
           "dale_chall_readability_score": (16.73, 0.1)},
}  # fmt: skip


@pytest.mark.parametrize(("text", "metric"), [(text, metric) for text, scores in ORACLE.items() for metric in scores])
def test_close_to_another_implementation(text, metric):
    want, tolerance = ORACLE[text][metric]
    assert readability(text, metric) == pytest.approx(want, abs=tolerance)


N = TextCounts(sentences=2, words=10, characters=50, letters=40, syllables=15, complex_words=2, unfamiliar_words=1)


@pytest.mark.parametrize(
    ("metric", "want"),
    [
        ("flesch_reading_ease", 206.835 - 1.015 * 5 - 84.6 * 1.5),
        ("flesch_kincaid_grade", 0.39 * 5 + 11.8 * 1.5 - 15.59),
        ("gunning_fog", 0.4 * (5 + 20)),
        ("automated_readability_index", 4.71 * 5 + 0.5 * 5 - 21.43),
        ("coleman_liau_index", 0.0588 * 400 - 0.296 * 20 - 15.8),
        ("dale_chall_readability_score", 0.1579 * 10 + 0.0496 * 5 + 3.6365),
    ],
)
def test_the_formulas(metric, want):
    assert METRICS[metric](N) == pytest.approx(want)


def test_a_text_of_familiar_words_gets_no_surcharge():
    assert readability("The cat sat on the mat.", "dale_chall_readability_score") == pytest.approx(0.0496 * 6)


@pytest.mark.parametrize(
    ("text", "sentences", "words"),
    [
        ("Hello.", 1, 1),
        ("Hello", 1, 1),
        ("One two. Three four! Five?", 3, 5),
        ("Wait... what happened? Nothing…", 2, 4),
        ("The fee is 3.50 EUR. It was 1,000.", 2, 8),
        ("Dr. Smith met Mr. J. Doe. They spoke.", 2, 8),
        ("See e.g. the list, i.e. this one.", 1, 9),
        ('He said "Stop!" She did not.', 2, 6),
        ("don't well-known o’clock", 1, 3),
        ("A heading\n\nA paragraph of text.", 2, 6),
        ("Steps:\n- open it\n- close it\n1. wait", 4, 6),
        ("A line that is\nwrapped once.", 1, 6),
        ("one.two", 1, 2),
        ("这是一句。这是另一句。", 2, 2),
        ("snake_case", 1, 2),
        ("So do I. You too.", 2, 5),
    ],
)
def test_sentences_and_words(text, sentences, words):
    counts = count_text(text)
    assert (counts.sentences, counts.words) == (sentences, words)


def test_characters_and_letters():
    counts = count_text("It's 3.50, ok?")
    assert (counts.characters, counts.letters) == (8, 5)


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "...", "!?", "🙂 🚀", "- - -", "_"])
def test_no_word_no_score(text):
    assert count_text(text).words == 0
    for metric in METRICS:
        with pytest.raises(ValueError, match="no word"):
            readability(text, metric)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "a I the cat through makes asked rhyme played there eye be 12 hmm x"),
        (2, "table acre wanted boxes hundred create being rhythm player poem quiet something safely fuel movement"),
        (3, "idea video radio actual important basically everything"),
        (4, "actually necessary education comprehensive"),
        (5, "readability university international"),
    ],
)
def test_syllables(count, words):
    assert {word: count_syllables(word) for word in words.split()} == dict.fromkeys(words.split(), count)
    assert count_syllables("café") == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("She asked for information.", 1),
        ("We created and expanded it.", 0),
        ("We met in Alexandria yesterday.", 1),  # a name is none
        ("A state-of-the-art toothbrush.", 0),
        ("It is uninteresting.", 1),
    ],
)
def test_words_that_are_hard_for_gunning(text, count):
    assert count_text(text).complex_words == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The cats stopped making noises.", 0),
        ("The biggest cities were happier.", 0),
        ("It's Mr. Smith's old-fashioned dog, isn’t it?", 0),
        ("He met Zaphod in 1984.", 0),
        ("Zygotes differentiate.", 2),
        ("An xylophone quartet.", 2),
        ("A cat-zygote.", 1),
    ],
)
def test_words_that_are_unfamiliar_for_dale_and_chall(text, count):
    assert count_text(text).unfamiliar_words == count


def test_the_word_list_is_whole():
    words = _easy_words()
    assert len(words) == 2942
    assert {"a", "able", "young", "mr", "o'clock", "you've"} <= words
    assert not any(word.startswith("#") or " " in word for word in words)


@given(st.text(), st.sampled_from(sorted(METRICS)))
def test_every_text_has_a_finite_score_or_no_word(text, metric):
    counts = count_text(text)
    if counts.words:
        assert abs(readability(text, metric)) < 1e6
        assert counts.sentences <= counts.words <= counts.syllables
        assert counts.letters <= counts.characters
    else:
        with pytest.raises(ValueError, match="no word"):
            readability(text, metric)


@pytest.mark.parametrize("piece", [".", "a.", "\n", "a-", "'", "e", "\n ", ". ", "- ", "a. ", "1,"])
def test_the_time_is_linear(piece):
    text = piece * (200_000 // len(piece))
    start = time.process_time()
    count_text(text)
    assert time.process_time() - start < 5
