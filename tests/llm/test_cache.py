"""The cache of models' answers: hits that can be seen, and never a reason to fail."""

import asyncio
import contextvars
import gc
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from giskard.checks import Scenario
from giskard.checks.llm.cache import ModelCache, ModelCacheWarning, default_folder, model_cache, use_model_cache
from giskard.checks.llm.calls import complete
from giskard.checks.llm.recording import active, recorded
from giskard.checks.llm.types import Completion, Message

FILE = "model-answers.sqlite3"


class Model:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = 0

    async def ask(self, text="Hello!", *, kind="chat", sample=0, identity="m", **request):
        async def call():
            self.calls += 1
            await asyncio.sleep(0)
            return self.answers.pop(0) if self.answers else {"text": f"answer {self.calls}"}

        return await recorded(
            kind, {"model": "openai/m", "messages": [text], **request}, call, sample, identity=identity
        )

    def __call__(self, *args, **options):
        answer, source = asyncio.run(self.ask(*args, **options))
        return answer["text"], source


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def for_all():
    yield use_model_cache
    use_model_cache(None)


def test_it_is_off_by_default(model):
    assert not active()
    assert [model(), model()] == [("answer 1", "model"), ("answer 2", "model")]


def test_an_answer_is_given_again_and_says_where_it_came_from(tmp_path, model):
    with model_cache(tmp_path) as cache:
        assert [model(), model()] == [("answer 1", "model"), ("answer 1", "cache")]
    assert (cache.hits, cache.misses) == (1, 1)
    assert repr(cache) == f"<ModelCache '{tmp_path / FILE}': 1 hits, 1 misses>"
    with model_cache(tmp_path) as cache:
        assert model() == ("answer 1", "cache")
    assert (cache.hits, cache.misses) == (1, 0)
    assert model() == ("answer 2", "model")


@pytest.mark.parametrize(
    "other",
    [{"text": "Hello"}, {"model": "n"}, {"temperature": 0.1}, {"schema": {}}, {"sample": 1}, {"kind": "embeddings"}],
)
def test_another_question_is_asked(tmp_path, model, other):
    with model_cache(tmp_path):
        model()
        assert model(**other)[1] == "model"


def test_the_same_question_in_other_words_is_not(tmp_path, model):
    with model_cache(tmp_path):
        model(temperature=0, seed=None)
        assert model(temperature=0.0)[1] == "cache"


def test_each_trial_is_asked(tmp_path, model):
    async def agent(inputs):
        return (await model.ask(inputs))[1]

    scenario = Scenario("s", target=agent, multiple_runs=3).interact("Hi")
    for hits in (0, 3):
        with model_cache(tmp_path) as cache:
            scenario.run_sync()
        assert (cache.hits, cache.misses) == (hits, 3 - hits)
    assert model.calls == 3


def test_targets_are_asked_each_time(tmp_path, model):
    with model_cache(tmp_path) as cache:
        assert [model(kind="target")[1], model(kind="target")[1]] == ["model", "model"]
    assert (cache.hits, cache.misses) == (0, 0)


def test_another_who_goes_by_the_same_name_is_asked(tmp_path):
    with model_cache(tmp_path) as cache:
        for _ in range(2):
            assert Model({"text": "FAIL"})(identity="a judge at http://a") in (("FAIL", "model"), ("FAIL", "cache"))
            assert Model({"text": "PASS"})(identity="a judge at http://b")[0] == "PASS"
    assert (cache.hits, cache.misses) == (2, 2)


def test_nothing_is_kept_of_one_who_cannot_be_told(tmp_path, model):
    with model_cache(tmp_path) as cache:
        model(identity="None")
        assert [model(identity=None)[1] for _ in range(2)] == ["model"] * 2
    assert rows(tmp_path)[0] == 1
    assert (cache.hits, cache.misses) == (0, 1)


def test_nothing_is_kept_of_one_who_is_told_by_a_secret(tmp_path, model):
    with model_cache(tmp_path):
        assert [model(identity="http://me:hunter2@a")[1] for _ in range(2)] == ["model"] * 2
    assert rows(tmp_path)[0] == 0


def test_judges_of_one_class_at_two_servers_do_not_share(tmp_path):
    class Judge:
        def __init__(self, server, answer):
            self.server, self.answer, self.model = server, answer, "judge"

        async def complete(self, messages, params=None, metadata=None):
            return Completion(self.answer)

    async def ask(judge):
        answer = await complete(judge, [Message("user", "Is it polite?")])
        return answer.text, answer.source

    with model_cache(tmp_path):
        for source in ("model", "cache"):
            assert asyncio.run(ask(Judge("http://a", "yes"))) == ("yes", source)
            assert asyncio.run(ask(Judge("http://b", "no"))) == ("no", source)


def test_a_failed_call_is_not_kept(tmp_path, model):
    async def fails():
        raise KeyError("no")

    with model_cache(tmp_path):
        with pytest.raises(KeyError):
            asyncio.run(recorded("chat", {"model": "openai/m", "messages": ["Hello!"]}, fails, identity="m"))
        assert model() == ("answer 1", "model")


@pytest.mark.parametrize("text", ["\ud83d\ude00\ud800", "x" * 3_000_000, "\x00\r\n\n", "é"])
def test_any_answer_comes_back(tmp_path, text):
    answer = {"text": text, "number": float("inf"), "list": [None, True, {"$lines": 1}]}
    with model_cache(tmp_path):
        asyncio.run(Model(answer).ask(text))
        assert asyncio.run(Model().ask(text)) == (answer, "cache")


def test_what_is_no_json_data_passes(tmp_path):
    odd = {"text": object()}
    with model_cache(tmp_path) as cache:
        assert asyncio.run(Model(odd).ask())[0] is odd
        assert asyncio.run(Model().ask(odd=object()))[1] == "model"
    assert cache.problem is None


def test_nothing_with_a_secret_in_it_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "hunter2hunter2")
    with model_cache(tmp_path):
        assert [Model()("hunter2hunter2")[1] for _ in range(2)] == ["model"] * 2
        assert [Model({"text": "sk-abcdef123456"})("b") for _ in range(2)] == [("sk-abcdef123456", "model")] * 2
        written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"hunter2" not in written
    assert b"sk-abc" not in written


def test_what_was_asked_is_not_kept(tmp_path, model):
    with model_cache(tmp_path):
        model("a private question")
        assert b"private" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


# --- limits ------------------------------------------------------------------------------


@pytest.mark.parametrize("max_age", [60, 60.5, timedelta(minutes=1)])
def test_what_is_too_old_is_asked_anew(tmp_path, model, max_age):
    with model_cache(tmp_path):
        model()
    age(tmp_path, 59)
    with model_cache(tmp_path, max_age=max_age):
        assert model() == ("answer 1", "cache")
    age(tmp_path, 2)
    with model_cache(tmp_path, max_age=max_age):
        assert model() == ("answer 2", "model")
        assert model() == ("answer 2", "cache")
    age(tmp_path, 1e9)
    with model_cache(tmp_path):
        assert model() == ("answer 2", "cache")


def all_is_written(cache):
    cache._worker.submit(lambda: None).result()


def age(folder, seconds):
    with sqlite3.connect(folder / FILE) as database:
        database.execute("UPDATE answers SET made = made - ?", (seconds,))
    database.close()


def rows(folder):
    database = sqlite3.connect(folder / FILE)
    try:
        return database.execute("SELECT COUNT(*), SUM(size) FROM answers").fetchone()
    finally:
        database.close()


def test_what_is_too_old_is_dropped(tmp_path, model):
    with model_cache(tmp_path, max_age=60):
        model("a")
    age(tmp_path, 100)
    with model_cache(tmp_path, max_age=60):
        model("b")
    assert rows(tmp_path)[0] == 1


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path):
    with model_cache(tmp_path, max_bytes=350):
        for text in "abc":
            Model({"text": text * 100})(text)
        Model()("a")
    with model_cache(tmp_path, max_bytes=350):
        Model({"text": "d" * 100})("d")
    assert rows(tmp_path)[0] == 3
    with model_cache(tmp_path):
        assert [Model()(text)[1] for text in "adcb"] == ["cache", "cache", "cache", "model"]


def test_it_does_not_grow_beyond_its_bound_while_it_runs(tmp_path, model):
    with model_cache(tmp_path, max_bytes=1_000) as cache:
        for number in range(400):
            model(f"question {number}")
        all_is_written(cache)
        assert rows(tmp_path)[1] <= 1_000


@pytest.mark.parametrize("option", ["max_age", "max_bytes"])
@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), ("1", TypeError)])
def test_a_limit_that_is_none_is_refused(tmp_path, option, value, error):
    with pytest.raises(error, match=f"{option} is {value!r}"):
        model_cache(tmp_path, **{option: value})
    with pytest.raises(ValueError, match="max_age"):
        model_cache(tmp_path, max_age=timedelta(0))


def test_it_can_be_cleared(tmp_path, model):
    with model_cache(tmp_path) as cache:
        model()
        cache.clear()
        assert model()[1] == "model"
    assert rows(tmp_path)[0] == 1
    model_cache(tmp_path).clear()
    assert rows(tmp_path)[0] == 0


# --- files that fail ---------------------------------------------------------------------


def foreign(path):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE mine (a)")
    database.commit()
    database.close()


def newer(path):
    with model_cache(path.parent):
        pass
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 2")
    database.close()


BROKEN = {
    "text": (lambda path: path.write_text("no database" * 100), "file is not a database"),
    "foreign": (foreign, "it is a database of another program"),
    "newer": (newer, "it is of version 2, this version of giskard-checks has 1"),
    "folder": (lambda path: path.mkdir(), "unable to open"),
}


@pytest.mark.parametrize(("break_it", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_fails_is_told_once_and_costs_no_run(tmp_path, model, break_it, problem):
    path = tmp_path / FILE
    break_it(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.warns(ModelCacheWarning) as caught, model_cache(tmp_path) as cache:
        assert [model(), model()] == [("answer 1", "model"), ("answer 2", "model")]

    assert [str(warning.message) for warning in caught] == [cache.problem]
    assert problem in cache.problem
    assert str(path) in cache.problem
    assert before is None or path.read_bytes() == before


def test_where_warnings_are_errors_it_goes_to_the_log(tmp_path, model, caplog):
    (tmp_path / FILE).write_text("no database" * 100)
    with model_cache(tmp_path):
        assert model() == ("answer 1", "model")
    assert "cannot be used" in caplog.text


def test_a_file_that_breaks_in_the_middle_costs_no_run(tmp_path, model):
    with model_cache(tmp_path) as cache:
        model()
        all_is_written(cache)
        cache._file._database.execute("DROP TABLE answers")
        with pytest.warns(ModelCacheWarning, match="no such table"):
            assert model() == ("answer 2", "model")


def test_an_answer_that_cannot_be_read_costs_no_run(tmp_path, model):
    with model_cache(tmp_path) as cache:
        model()
        all_is_written(cache)
        cache._file._database.execute("UPDATE answers SET answer = 'broken'")
        with pytest.warns(ModelCacheWarning):
            assert model() == ("answer 2", "model")


@pytest.fixture
def other(tmp_path):
    """A connection of somebody else to the file."""
    with model_cache(tmp_path):
        pass
    database = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    yield database
    database.close()


def test_a_file_that_another_process_holds_costs_no_run(tmp_path, model, other):
    with model_cache(tmp_path):
        model("a")
    other.execute("BEGIN EXCLUSIVE")
    with model_cache(tmp_path, max_bytes=10_000) as cache:
        assert [model("b"), model("b")] == [("answer 2", "model"), ("answer 2", "cache")]
        assert model("a") == ("answer 1", "cache")  # also while somebody writes
        assert cache.problem is None
        other.execute("ROLLBACK")
    with model_cache(tmp_path):
        assert model("b") == ("answer 2", "cache")


def test_no_loop_waits_for_who_holds_the_file(tmp_path, model, other, monkeypatch):
    monkeypatch.setattr("giskard.checks.llm._cache_file._SECONDS_TO_WAIT", 60)

    async def main():
        with model_cache(tmp_path) as cache:
            other.execute("BEGIN EXCLUSIVE")
            assert await model.ask("a") == ({"text": "answer 1"}, "model")
            later = asyncio.create_task(model.ask("a"))
            for _ in range(20):
                await asyncio.sleep(0)
            other.execute("ROLLBACK")
            assert await later == ({"text": "answer 1"}, "cache")
            assert cache.problem is None

    asyncio.run(main())


def test_what_could_not_be_written_is_written_later(tmp_path, monkeypatch, other):
    monkeypatch.setattr("giskard.checks.llm._cache_file._SECONDS_TO_WAIT", 0.01)
    with model_cache(tmp_path) as cache:
        other.execute("BEGIN EXCLUSIVE")
        for number in range(3):
            Model({"text": f"answer {number}"})(f"question {number}")
        all_is_written(cache)
        other.execute("ROLLBACK")
        Model()("another")
        all_is_written(cache)
        assert rows(tmp_path)[0] == 4
        assert cache.problem is None
        other.execute("BEGIN EXCLUSIVE")
        Model()("last")
        all_is_written(cache)
        other.execute("ROLLBACK")

    assert rows(tmp_path)[0] == 5
    with model_cache(tmp_path):
        assert [Model()(f"question {number}")[0] for number in range(3)] == ["answer 0", "answer 1", "answer 2"]


def test_who_is_cancelled_while_it_looks_costs_nothing(tmp_path, model):
    async def main():
        with model_cache(tmp_path) as cache:
            with cache._worker.lock:
                task = asyncio.create_task(model.ask("a"))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await model.ask("a") == ({"text": "answer 1"}, "model")
            assert await model.ask("a") == ({"text": "answer 1"}, "cache")
            assert (cache.hits, cache.misses) == (1, 1)

    asyncio.run(main())


def test_what_was_closed_meanwhile_stays_closed(tmp_path, model):
    async def main():
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def call():
            begun.set()
            await go_on.wait()
            return {"text": "late"}

        with model_cache(tmp_path) as cache:
            task = asyncio.create_task(recorded("chat", {}, call, identity="m"))
            await begun.wait()
        go_on.set()
        assert await task == ({"text": "late"}, "model")
        return cache

    cache = asyncio.run(main())
    assert asyncio.run(cache._worker.run(lambda: cache._file.get("key"))) is None
    all_is_written(cache)
    assert cache._file._database is None
    assert rows(tmp_path)[0] == 0


def test_the_folder_may_be_changed_meanwhile(tmp_path, model, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    cache = model_cache("cache")
    os.chdir("other")
    with cache:
        model()
    assert (tmp_path / "cache" / FILE).is_file()


def test_a_folder_that_cannot_be_made_costs_no_run(tmp_path, model):
    (tmp_path / "file").write_text("")
    with pytest.warns(ModelCacheWarning), model_cache(tmp_path / "file" / "folder"):
        assert model() == ("answer 1", "model")


# --- many at once ------------------------------------------------------------------------


def test_many_tasks_and_threads(tmp_path):
    async def many():
        return await asyncio.gather(*(Model({"text": str(n)}).ask(str(n)) for n in range(40)))

    with model_cache(tmp_path) as cache:
        first = asyncio.run(many())
        with ThreadPoolExecutor(6) as pool:
            waiting = [pool.submit(contextvars.copy_context().run, asyncio.run, many()) for _ in range(6)]
            again = [one.result() for one in waiting]

    assert first == [({"text": str(n)}, "model") for n in range(40)]
    assert again == [[({"text": str(n)}, "cache") for n in range(40)]] * 6
    assert (cache.hits, cache.misses) == (240, 40)


PROCESS = """
import asyncio, sys
from giskard.checks.llm.cache import model_cache
from giskard.checks.llm.recording import recorded

async def main():
    async def call():
        return {"text": "x"}
    for question in range(30):
        for text in (f"{sys.argv[2]} {question}", f"shared {question}"):
            await recorded("chat", {"model": "m", "text": text}, call, identity="m")

print("ready", flush=True)
input()
with model_cache(sys.argv[1]) as cache:
    asyncio.run(main())
print(cache.problem)
"""


def test_many_processes(tmp_path):
    command = [sys.executable, "-W", "error", "-c", PROCESS, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for number in range(4)
    ]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()

    assert [process.communicate() for process in processes] == [(b"None\n", b"")] * 4
    assert rows(tmp_path)[0] == 4 * 30 + 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_has_a_connection_of_its_own(tmp_path):
    code = (
        "import asyncio, os, sys\n"
        "from giskard.checks.llm.cache import model_cache\n"
        "from giskard.checks.llm.recording import recorded\n"
        "async def call(): return {}\n"
        "ask = lambda text: asyncio.run(recorded('chat', {'q': text}, call, identity='m'))[1]\n"
        "with model_cache(sys.argv[1]) as cache:\n"
        "    print(ask('a'), flush=True)\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        print(ask('a'), ask('b'), cache.problem, flush=True)\n"
        "        sys.exit()\n"
        "    os.waitpid(child, 0)\n"
        "    print(ask('b'), cache.problem, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-W", "ignore::DeprecationWarning", "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("model\ncache model None\ncache None\n", 0), done.stderr


def test_a_cache_that_is_never_closed_warns_of_nothing(tmp_path):
    code = (
        "import sys\n"
        "from giskard.checks.llm.cache import ModelCache, use_model_cache\n"
        "left = ModelCache(sys.argv[1]).open()\n"
        "ModelCache(sys.argv[1]).open()\n"
        "use_model_cache(sys.argv[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_cache_that_is_forgotten_lets_go_of_its_file(tmp_path):
    cache = ModelCache(tmp_path).open()
    database = cache._file._database
    del cache
    gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")


# --- where -------------------------------------------------------------------------------


def test_without_a_folder_it_is_in_the_users_folder_for_caches(tmp_path, monkeypatch, model):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    with model_cache() as cache:
        model()
    assert cache.folder == default_folder()
    assert cache.folder.name == "giskard-checks"
    assert cache.path.is_relative_to(tmp_path)
    assert cache.path.is_file()

    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder().is_relative_to(tmp_path)


def test_for_the_whole_process(tmp_path, model, for_all):
    cache = for_all(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        assert [pool.submit(model).result() for _ in range(2)] == [("answer 1", "model"), ("answer 1", "cache")]
    assert for_all(str(tmp_path)) is cache
    assert (cache.hits, cache.misses) == (1, 1)
    assert for_all(tmp_path, max_age=60) is not cache
    assert not cache.is_open
    assert for_all(None) is None
    assert not active()


def test_it_is_entered_once_at_a_time(tmp_path, model):
    cache = model_cache(tmp_path)
    with cache:
        model()
        with pytest.raises(RuntimeError, match="is entered already"):
            cache.__enter__()
    with cache:
        assert model()[1] == "cache"
