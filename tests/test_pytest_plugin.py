"""The marker ``cassette``, in runs of pytest as a project makes them."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import PurePosixPath, PureWindowsPath

import pytest

from giskard.checks.pytest_plugin import _shown_path  # loads it once for all runs in this process

ASK = '''
import asyncio
import os

import pytest

from giskard.checks.llm.recording import recorded

calls = []


async def ask(text, answer="answer", **request):
    """What a judge does when it asks its model."""

    async def call():
        calls.append(text)
        return {{"text": answer}}

    request = {{"model": "openai/m", "messages": [{{"role": "user", "content": text}}], **request}}
    return (await recorded("chat", request, call))[1]


SOURCE = os.environ.get("SOURCE", "model")

{tests}
'''

INI = """
[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider
filterwarnings = error
"""


ASYNCIO = ("-o", "asyncio_mode=strict", "-o", "asyncio_default_fixture_loop_scope=function")


@pytest.fixture
def project(pytester, monkeypatch, request):
    """A project whose tests ask a model; they are told by `source` who is to answer."""
    no_anyio = request.config.pluginmanager.is_blocked("anyio")
    pytester.makeini(INI)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    class Project:
        path = pytester.path

        def tests(self, text, name="test_it"):
            pytester.makepyfile(**{name: ASK.format(tests=textwrap.dedent(text))})

        def run(self, *options, source="model", plugins=(), run=pytester.runpytest_inprocess):
            if no_anyio and "anyio" in plugins:
                pytest.skip("anyio's plugin is left out of this run: the one that is installed is too old for pytest")
            monkeypatch.setenv("SOURCE", source)
            given = [argument for plugin in plugins for argument in ("-p", plugin)]
            given += ASYNCIO if "asyncio" in plugins else ()
            return run("-p", "giskard_checks", *given, *options)

        def run_anew(self, *options, **how):
            """In a process of its own."""
            return self.run(*options, **how, run=pytester.runpytest_subprocess)

        def cassettes(self):
            return sorted(path.relative_to(self.path).as_posix() for path in self.path.rglob("*.json"))

        def edit(self, old, new, name="test_it"):
            path = self.path / f"{name}.py"
            path.write_text(path.read_text().replace(old, new))

    return Project()


EVERY_KIND = """
import unittest


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.cassette
def test_sync():
    assert asyncio.run(ask("sync")) == SOURCE


@pytest.mark.cassette
@pytest.mark.asyncio
async def test_asyncio():
    assert await ask("asyncio") == SOURCE


@pytest.mark.cassette
@pytest.mark.anyio
async def test_anyio(anyio_backend):
    assert await ask("anyio") == SOURCE


class TestClass:
    @pytest.mark.cassette
    def test_sync(self):
        assert asyncio.run(ask("method")) == SOURCE

    @pytest.mark.cassette
    @pytest.mark.asyncio
    async def test_asyncio(self):
        assert await ask("async method") == SOURCE


class TestUnit(unittest.TestCase):
    @pytest.mark.cassette
    def test_sync(self):
        self.assertEqual(asyncio.run(ask("unit")), SOURCE)


class TestAsyncUnit(unittest.IsolatedAsyncioTestCase):
    @pytest.mark.cassette
    async def test_async(self):
        self.assertEqual(await ask("async unit"), SOURCE)


def test_without():
    assert asyncio.run(ask("not recorded")) == "model"
"""


def test_every_kind_of_test_is_recorded_and_replayed(project):
    project.tests(EVERY_KIND)

    first = project.run_anew(plugins=["asyncio", "anyio"])
    first.assert_outcomes(passed=8)
    assert project.cassettes() == [
        "cassettes/test_it/TestAsyncUnit.test_async.json",
        "cassettes/test_it/TestClass.test_asyncio.json",
        "cassettes/test_it/TestClass.test_sync.json",
        "cassettes/test_it/TestUnit.test_sync.json",
        "cassettes/test_it/test_anyio.json",
        "cassettes/test_it/test_asyncio.json",
        "cassettes/test_it/test_sync.json",
    ]
    first.stdout.fnmatch_lines(["=* cassettes =*", "cassettes/test_it/TestAsyncUnit.test_async.json: 1 call recorded"])

    again = project.run_anew("--cassette-mode=strict", source="cassette", plugins=["asyncio", "anyio"])
    again.assert_outcomes(passed=8)
    again.stdout.no_fnmatch_line("*cassettes*")


def test_async_tests_without_a_marker(project):
    project.tests(
        """
        @pytest.mark.cassette
        async def test_async():
            assert await ask("auto") == SOURCE
        """
    )
    for source in ("model", "cassette"):
        done = project.run_anew("-o", "asyncio_mode=auto", source=source, plugins=["asyncio"])
        done.assert_outcomes(passed=1)


def test_tests_of_hypothesis(project):
    project.tests(
        """
        from hypothesis import given, settings, strategies as st


        @pytest.mark.cassette
        @given(st.booleans())
        @settings(database=None, derandomize=True)
        def test_sync(value):
            asyncio.run(ask(str(value)))


        @pytest.mark.cassette
        @pytest.mark.asyncio
        @given(st.booleans())
        @settings(database=None, derandomize=True)
        async def test_async(value):
            await ask(str(value))


        @pytest.fixture
        def anyio_backend():
            return "asyncio"


        @pytest.mark.cassette
        @pytest.mark.anyio
        @given(st.booleans())
        @settings(database=None, derandomize=True)
        async def test_anyio(anyio_backend, value):
            await ask(str(value))


        def test_end():
            assert (len(calls) > 0) == (SOURCE == "model")
        """
    )
    for source, mode in (("model", "auto"), ("cassette", "strict")):
        done = project.run_anew(f"--cassette-mode={mode}", source=source, plugins=["asyncio", "anyio"])
        done.assert_outcomes(passed=4)


def test_a_scenario_with_a_judge(project):
    project.tests(
        """
        from giskard.checks import Conformity, Scenario
        from giskard.checks.testing import FakeGenerator


        @pytest.mark.cassette
        def test_politeness():
            judge = FakeGenerator('{"reason": "It is.", "passed": true}')
            scenario = Scenario("s", target=lambda inputs: "Hello!", multiple_runs=2)
            scenario.interact("Hi").check(Conformity(rule="Be polite.", judge=judge)).run_sync().assert_passed()
            assert len(judge.prompts) == (2 if SOURCE == "model" else 0)
        """
    )
    for source, mode in (("model", "auto"), ("cassette", "strict")):
        project.run_anew(f"--cassette-mode={mode}", source=source).assert_outcomes(passed=1)


NAMES = """
@pytest.mark.cassette
@pytest.mark.parametrize("value", ["A", "a", "a/b", "a\\\\b", "..", "x" * 300, "y" * 300, "CON", "a:b", "é", " ", ""])
def test_names(value):
    assert asyncio.run(ask(value or "nothing")) == SOURCE
"""


def test_the_names_of_parametrised_tests_differ_on_every_file_system(project):
    project.tests(NAMES)
    project.run().assert_outcomes(passed=12)

    names = [os.path.basename(name) for name in project.cassettes()]
    assert len({name.lower() for name in names}) == 12
    assert all(len(name) < 130 and set(name) <= set(ALLOWED) for name in names)
    assert "test_names.a.json" in names
    project.run("--cassette-mode=strict", source="cassette").assert_outcomes(passed=12)


ALLOWED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.=+-"


def test_what_the_marker_may_be_given(project):
    project.tests(
        """
        @pytest.mark.cassette("mine/one.json")
        def test_path():
            asyncio.run(ask("a"))


        @pytest.mark.cassette(path="two.json", mode="record")
        def test_mode():
            assert asyncio.run(ask("b")) == "model"


        @pytest.mark.cassette(mode="once")
        def test_bad_mode():
            raise NotImplementedError


        @pytest.mark.cassette("a", "auto", "more")
        def test_too_much():
            raise NotImplementedError


        @pytest.mark.cassette(name="a")
        def test_bad_name():
            raise NotImplementedError


        @pytest.mark.cassette(3)
        def test_bad_path():
            raise NotImplementedError
        """
    )
    for _ in range(2):
        done = project.run("-vv")
        done.assert_outcomes(passed=2, failed=4)
        assert project.cassettes() == ["mine/one.json", "two.json"]
        done.stdout.fnmatch_lines(
            [
                "test_it.py::test_bad_mode: @pytest.mark.cassette(mode='once'): the mode of a cassette is 'once', "
                "expected one of 'auto', 'record', 'replay', 'strict'",
                "test_it.py::test_too_much: @pytest.mark.cassette('a', 'auto', 'more'): cassette() takes *",
                "test_it.py::test_bad_name: @pytest.mark.cassette(name='a'): cassette() got *'name'",
                "test_it.py::test_bad_path: @pytest.mark.cassette(3): the path is 3, expected a text or None",
            ]
        )


ONE = """
@pytest.mark.cassette
def test_one():
    print("it came from the", asyncio.run(ask("a")))
"""


def test_the_option_comes_before_the_marker_and_the_marker_before_the_configuration(project):
    project.tests(ONE)
    project.run().assert_outcomes(passed=1)

    project.run("-rA", "-o", "cassette_mode=record").stdout.fnmatch_lines(["it came from the model"])
    project.edit("@pytest.mark.cassette", "@pytest.mark.cassette(mode='replay')")
    project.run("-rA", "-o", "cassette_mode=record").stdout.fnmatch_lines(["it came from the cassette"])
    project.run("-rA", "--cassette-mode=record").stdout.fnmatch_lines(["it came from the model"])


def test_a_wrong_mode_in_the_configuration_is_told(project):
    project.tests(ONE)
    project.run("-o", "cassette_mode=once").stdout.fnmatch_lines(
        ["*the mode of a cassette is 'once', expected one of *"]
    )
    assert project.run("--cassette-mode=once").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("mode", ["replay", "strict"])
def test_a_call_that_is_not_recorded_fails(project, mode):
    project.tests(ONE)
    project.run().assert_outcomes(passed=1)
    project.edit('ask("a")', 'ask("b")')

    done = project.run(f"--cassette-mode={mode}")

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "E *ModelCallError: the cassette '*test_one.json' has no recording of this call of 'openai/m' (chat), and "
            f"its mode is '{mode}': the nearest recording differs in messages[[]0].content: recorded was 'a', asked is "
            "'b'*",
            "=* cassettes =*",
            "cassettes/test_it/test_one.json: without a recording:",
            "  chat openai/m: 'b' (the nearest recording differs in *",
        ]
    )
    assert "not" not in str(json.loads((project.path / project.cassettes()[0]).read_text()))


def test_a_call_more_than_was_recorded_is_recorded_or_fails(project):
    project.tests(ONE)
    project.run().assert_outcomes(passed=1)
    project.edit('asyncio.run(ask("a"))', '[asyncio.run(ask("a")) for _ in "12"]')

    for mode in ("replay", "strict"):
        done = project.run(f"--cassette-mode={mode}")
        done.assert_outcomes(failed=1)
        done.stdout.fnmatch_lines(
            [
                f"*its mode is '{mode}': it is recorded once, and asked for once more. *",
                "cassettes/test_it/test_one.json: without a recording:",
                "  chat openai/m: 'a' (it is recorded once, and asked for once more)",
            ]
        )
    project.run().assert_outcomes(passed=1)
    project.run("--cassette-mode=strict").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("path", "root", "shown"),
    [
        (PureWindowsPath("C:/project/x.json"), PureWindowsPath("C:/project"), "x.json"),
        (PureWindowsPath("D:/x.json"), PureWindowsPath("C:/project"), "D:\\x.json"),
        (PurePosixPath("/project/tests/../x.json"), PurePosixPath("/project"), "x.json"),
        (PurePosixPath("/project/../other/x.json"), PurePosixPath("/project"), "/other/x.json"),
    ],
    ids=str,
)
def test_a_path_is_shown_from_the_root_on_unless_it_is_elsewhere(path, root, shown):
    assert _shown_path(path, root) == shown


def test_what_no_test_asked_for_is_reported_and_a_strict_run_fails(project):
    project.tests(ONE.replace('ask("a")', 'ask("a")), asyncio.run(ask("b")'))
    project.run().assert_outcomes(passed=1)
    project.edit(', asyncio.run(ask("b"))', "")

    for mode in ("auto", "replay"):
        done = project.run(f"--cassette-mode={mode}")
        done.assert_outcomes(passed=1)
        done.stdout.fnmatch_lines(
            ["cassettes/test_it/test_one.json: recorded, and no test asked for it:", "  chat openai/m: 'b'"]
        )
    done = project.run("--cassette-mode=strict")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "the cassette '*test_one.json' does not match what was asked:",
            "1 recording that nobody asked for:",
            "  chat openai/m: 'b'",
        ]
    )


def test_a_test_that_fails_says_nothing_of_what_it_did_not_come_to_ask_for(project):
    project.tests(ONE + '    asyncio.run(ask("b"))\n')
    project.run().assert_outcomes(passed=1)
    project.edit('    asyncio.run(ask("b"))', "    assert 1 == 2")

    for mode in ("auto", "strict"):
        done = project.run(f"--cassette-mode={mode}")
        done.assert_outcomes(failed=1)
        done.stdout.fnmatch_lines(["E *assert 1 == 2"])
        done.stdout.no_fnmatch_line("*asked for*")


SHARED = """
pytestmark = pytest.mark.cassette("shared.json")


@pytest.mark.parametrize("text", ["a", "b", "c"])
def test_shared(text):
    assert asyncio.run(ask(text)) == SOURCE
"""


def test_several_tests_may_share_a_cassette(project):
    project.tests(SHARED)
    done = project.run()
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(["shared.json: 3 calls recorded"])

    for options in ([], ["-k", "b"], ["test_it.py::test_shared[b]"]):
        done = project.run("--cassette-mode=strict", *options, source="cassette")
        assert done.ret == 0
    project.edit('"a", "b", "c"', '"a", "b"')
    project.run("--cassette-mode=strict", source="cassette").stdout.fnmatch_lines(
        ["shared.json: recorded, and no test asked for it:", "  chat openai/m: 'c'", "*2 passed*"]
    )


def test_the_one_test_that_has_a_cassette_is_held_to_all_of_it(project):
    project.tests(SHARED.replace('"a", "b", "c"', '"a"'))
    project.run().assert_outcomes(passed=1)
    path = project.path / "shared.json"
    data = json.loads(path.read_text())
    data["recordings"].append(data["recordings"][0] | {"trial": 2})
    path.write_text(json.dumps(data))

    project.run("--cassette-mode=strict", source="cassette").assert_outcomes(failed=1)
    project.run("--cassette-mode=strict", "test_it.py::test_shared[a]", source="cassette").assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.parametrize("tests", [EVERY_KIND, SHARED], ids=["own", "shared"])
def test_in_processes_of_xdist(project, tests):
    plugins = ["asyncio", "anyio", "xdist"]
    project.tests(tests)
    done = project.run_anew("-n", "2", plugins=plugins)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["=* cassettes =*", "*.json: * call* recorded"])
    recorded = project.cassettes()

    done = project.run_anew("-n", "2", "--cassette-mode=strict", source="cassette", plugins=plugins)
    assert done.ret == 0
    done.stdout.no_fnmatch_line("*cassettes*")
    assert project.cassettes() == recorded
    assert not list(project.path.rglob("*.new"))


def test_a_file_that_is_no_cassette_fails_its_test_and_stays(project):
    project.tests(ONE + "\n\ndef test_other():\n    pass\n")
    project.run().assert_outcomes(passed=2)
    path = project.path / project.cassettes()[0]
    path.write_text("mine")

    done = project.run()

    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["the cassette '*test_one.json' is no JSON file: *"])
    assert path.read_text() == "mine"


def test_a_cassette_that_cannot_be_written_fails_its_test(project):
    project.tests(
        ONE
        + """
    open(os.path.join(os.path.dirname(__file__), "cassettes"), "w").close()
    asyncio.run(ask("b"))


@pytest.mark.cassette("cassettes2/x.json")
def test_two():
    open(os.path.join(os.path.dirname(__file__), "cassettes2"), "w").close()
    asyncio.run(ask("b"))
    assert 1 == 2
"""
    )
    project.edit('print("it came from the", asyncio.run(ask("a")))', "pass")

    done = project.run()

    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*Not a directory*", "E *assert 1 == 2", "E *The cassette was not written: *"])


def test_what_a_fixture_asks_is_not_on_the_cassette_of_the_test(project):
    project.tests(
        """
        @pytest.fixture(scope="module")
        def shared():
            return asyncio.run(ask("before"))


        @pytest.mark.cassette
        def test_one(shared):
            assert shared == "model"
            assert asyncio.run(ask("a")) == SOURCE
        """
    )
    for source in ("model", "cassette"):
        project.run(source=source).assert_outcomes(passed=1)


def test_a_secret_that_was_taken_out_is_told(project):
    project.tests(ONE.replace('ask("a")', 'ask("sk-abcdef123456")'))
    project.run().stdout.fnmatch_lines(["cassettes/test_it/test_one.json: has [[]secret[]] where a key stood; *"])
    assert "sk-abc" not in (project.path / project.cassettes()[0]).read_text()


def test_long_lists_are_cut(project):
    project.tests(
        """
        @pytest.mark.cassette
        def test_many():
            for number in range(13):
                asyncio.run(ask(f"question {number:02}"))
        """
    )
    project.run().stdout.fnmatch_lines(["cassettes/test_it/test_many.json: 13 calls recorded"])
    project.edit("range(13)", "range(0)")
    project.run().stdout.fnmatch_lines(["  chat openai/m: 'question 09'", "  … and 3 more"])


def test_markers_lists_it(project):
    project.tests("")
    project.run("--markers").stdout.fnmatch_lines(["@pytest.mark.cassette(path=None, mode=None): record what models *"])


# --- who does not use it -----------------------------------------------------------------


def test_a_run_that_does_not_use_it_loads_nothing_of_the_package(project):
    (project.path / "test_plain.py").write_text(
        "import sys\n\n\ndef test_nothing():\n"
        "    assert [name for name in sys.modules if name.startswith('giskard.checks.')] == []\n"
        "    assert 'giskard.checks' not in sys.modules\n"
        "    assert 'giskard.checks_pytest' in sys.modules\n"
        "    assert 'pydantic' not in sys.modules\n"
    )
    done = project.run_anew()
    done.assert_outcomes(passed=1)
    done.stdout.no_fnmatch_line("*cassettes*")


def test_it_is_found_by_pytest_and_loads_next_to_nothing(tmp_path):
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "from importlib.metadata import entry_points\n"
        "[point] = [point for point in entry_points(group='pytest11') if point.name == 'giskard_checks']\n"
        "before |= set(sys.modules)\n"
        "point.load()\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == "['giskard', 'giskard.checks_pytest']\n"


@pytest.mark.slow
def test_the_modules_of_the_package_are_measured_by_coverage(project):
    if subprocess.run([sys.executable, "-c", "import pytest_cov"], check=False, capture_output=True).returncode:
        pytest.skip("pytest-cov is not installed")
    project.tests(ONE)
    done = project.run_anew("--cov=giskard.checks", "--cov-report=json", plugins=["pytest_cov"])
    done.assert_outcomes(passed=1)

    files = json.loads((project.path / "coverage.json").read_text())["files"]
    of = {os.path.basename(name): data["executed_lines"] for name, data in files.items()}
    assert of["pytest_plugin.py"][0] < 10
    assert of["cassettes.py"][0] < 10
