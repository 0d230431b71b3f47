"""What a user gets who installs and imports the package."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import giskard.checks

# Terminal, templates, numbers, databases, models, servers and the loops of third parties.
HEAVY = {
    "aiohttp",
    "anyio",
    "click",
    "httpx",
    "httpx2",
    "jinja2",
    "lxml",
    "numpy",
    "openai",
    "opentelemetry",
    "pandas",
    "phonenumbers",
    "presidio_analyzer",
    "py3langid",
    "pyarrow",
    "pydantic_ai",
    "pytest",
    "rapidfuzz",
    "regorus",
    "rich",
    "sacrebleu",
    "spacy",
    "sqlalchemy",
    "starlette",
    "stdnum",
    "trio",
    "uvicorn",
    "yaml",
}
FIVE = "from giskard.checks import Scenario, TestCase, Trace, Interaction, Equals"


def python(code: str, **env: str) -> str:
    """What a fresh interpreter prints; warnings are errors there too."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("statement", ["import giskard.checks", FIVE])
def test_importing_loads_nothing_heavy(statement):
    loaded = json.loads(python(f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"))

    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()


def test_importing_builds_no_class_of_pydantic():
    """The first one costs a quarter of the import: it loads the plugins, looked for in all installed packages."""
    out = python(
        f"{FIVE}\n"
        "from pydantic import BaseModel\n"
        "classes = [BaseModel]\n"
        "for cls in classes: classes += cls.__subclasses__()\n"
        "print(*[cls for cls in classes[1:] if cls.__pydantic_complete__])"
    )

    assert out.strip() == ""


def test_a_suite_without_models_loads_no_client_of_models():
    out = python(
        "import sys\n"
        "from giskard.checks import Scenario, StringMatching, Suite\n"
        "scenario = Scenario('s').interact('q', 'a').check(StringMatching(keyword='a'))\n"
        "result = Suite(name='s', scenarios=[scenario]).run_sync(verbose=False)\n"
        "result.assert_passed()\n"
        "print(*[name for name in sys.modules if name.startswith('giskard.checks.llm')])"
    )

    assert out.strip() == ""


def test_every_public_name_can_be_imported_and_loads_nothing_but_what_it_needs():
    out = python(
        "import giskard.checks as g, sys\n"
        "for name in g.__all__: getattr(g, name)\n"
        "print(set(g.__all__) <= set(dir(g)))\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    listed, loaded = out.splitlines()

    assert listed == "True"
    assert set(loaded.split()) & HEAVY == set()


def test_importing_prints_nothing_and_opens_no_socket():
    out = python(
        "import sys\n"
        "def refuse(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'): raise SystemExit(event)\n"
        "sys.addaudithook(refuse)\n"
        "import giskard.checks as g\n"
        "for name in g.__all__: getattr(g, name)"
    )

    assert out == ""


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="Equalz"):
        _ = giskard.checks.Equalz
    with pytest.raises(ImportError, match="Equalz"):
        exec("from giskard.checks import Equalz")


def test_the_version_is_the_one_of_the_distribution():
    assert giskard.checks.__version__ == importlib.metadata.version("giskard-checks")


def test_the_package_says_that_it_is_typed():
    assert Path(giskard.checks.__file__).with_name("py.typed").is_file()


def test_giskard_is_a_namespace_that_other_distributions_can_live_in(tmp_path):
    other = tmp_path / "giskard" / "somebody_elses"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("here = True\n")

    out = python(
        "import giskard, giskard.checks, giskard.somebody_elses as other\nprint(giskard.__file__, other.here)",
        PYTHONPATH=str(tmp_path),
    )

    assert out == "None True\n"
