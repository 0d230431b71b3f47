"""Fuzz for some time: with atheris, which looks for inputs that reach new code, else with random bytes.

An input that breaks a promise is printed, with what to call to see it again.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

CORPUS = ROOT / "build" / "fuzz"
SIZES = [4, 16, 48, 160, 400]


def with_atheris(name: str, seconds: int) -> int:
    """Run one target under atheris in a process of its own, which ends itself."""
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--target", name, "--", str(corpus), f"-max_total_time={seconds}"]
    command += [f"-artifact_prefix={corpus}-", "-max_len=400", "-timeout=60", "-print_final_stats=1", "-verbosity=0"]
    return subprocess.run(command, check=False).returncode


def under_atheris(name: str, options: list[str]) -> None:
    """What that process does."""
    import atheris

    with atheris.instrument_imports(include=["giskard", "jsonpath"]):
        from tests.fuzz.targets import TARGETS

    atheris.Setup([sys.argv[0], *options], noted(TARGETS[name]))
    atheris.Fuzz()


def with_random_bytes(name: str, seconds: int) -> int:
    """Run one target on random bytes, from a seed that is printed."""
    from tests.fuzz.targets import TARGETS

    seed = random.SystemRandom().randrange(2**32)
    source, target = random.Random(seed), noted(TARGETS[name])
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        target(source.randbytes(source.choice(SIZES)))
        count += 1
    print(f"{name}: {count:,} inputs from the seed {seed}, nothing found")
    return 0


def noted(target: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """`target`, which prints the bytes that it fails on."""

    def run(data: bytes) -> None:
        try:
            target(data)
        except BaseException as error:
            print(f"{type(error).__name__} of tests.fuzz.targets.{target.__name__}({bytes(data)!r})", file=sys.stderr)
            raise

    return run


def main() -> int:
    """Give every target its share of the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for all targets together")
    parser.add_argument("--target", help="only this one")
    parser.add_argument("options", nargs="*", help="for atheris, with --target")
    given = parser.parse_args()
    if given.options:
        under_atheris(given.target, given.options)
        return 0
    try:
        import atheris  # noqa: F401

        run = with_atheris
    except ImportError:
        print("atheris is not installed (pip install atheris): random bytes instead")
        run = with_random_bytes
    from tests.fuzz.targets import TARGETS

    names = [given.target] if given.target else list(TARGETS)
    return max(run(name, max(given.seconds // len(names), 1)) for name in names)


if __name__ == "__main__":
    sys.exit(main())
