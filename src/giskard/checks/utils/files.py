"""Files that are there as a whole or not at all, and one writer at a time."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["atomic_writer", "locked", "write_atomically"]


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write `text` as UTF-8: whoever reads `path` meanwhile sees the old file or the new one, never a part.

    Its folders are made.  What a link points to is replaced, not the link; a device or a pipe is written to.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    OSError
        When it cannot be written; then a file that was there before is as it was.
    """
    data = text.encode("utf-8", "backslashreplace")
    with atomic_writer(path) as file:
        file.write(data)
    return _target(path)


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Generator[BinaryIO]:
    """As `write_atomically`, for what is written piece by piece; what the block raises leaves the old file as it was.

    Yields
    ------
    BinaryIO
        What to write to; it is closed here.
    """
    target = _target(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as pipe:
            yield pipe
        return
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; give the name of a file in it")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{uuid4().hex}.tmp")
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            with contextlib.suppress(OSError):
                part.chmod(mode)
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _target(path: str | os.PathLike[str]) -> Path:
    """What is written to: of a link what it points to; a pipe has no path of its own to resolve."""
    given = Path(path)
    if given.exists() and not given.is_file() and not given.is_dir():
        return given
    return Path(os.path.realpath(given))


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Generator[None]:
    """Hold the lock of a file, which need not exist: no other thread or process of this user on this machine has it.

    The lock itself lies in the folder for temporary files, so that nothing is beside `path`.  It is free again when its
    holder ends, however that happens.
    """
    lock = _lock_of(path)
    descriptor = _held(lock)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows does not remove what is open
            lock.unlink()
        _release(descriptor)
        os.close(descriptor)


def _held(lock: Path) -> int:
    """The lock file, open and held; not one that its last holder has removed while we waited for it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            _acquire(descriptor)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock_of(path: str | os.PathLike[str]) -> Path:
    from hashlib import sha256  # noqa: PLC0415 - few need it

    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    folder = Path(tempfile.gettempdir()) / f"giskard-checks-{user}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]}.lock"


if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _acquire(descriptor: int) -> None:
        while True:
            with contextlib.suppress(OSError):
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return
            time.sleep(0.01)

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
