"""The charsets in which a service may answer: real ones, of the many things that Python can decode."""

from __future__ import annotations

from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Final

__all__ = ["decoded"]

_UTF_8: Final = "utf-8-sig"  # with or without the mark at the beginning
# Among the others are some that take a minute for two megabytes (punycode), that make no text of bytes (zlib, idna), or
# texts that no file can hold (unicode_escape).
# fmt: off
_CHARSETS: Final = frozenset({
    "ascii", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le", "latin_1", "iso8859_2",
    "iso8859_3", "iso8859_4", "iso8859_5", "iso8859_6", "iso8859_7", "iso8859_8", "iso8859_9", "iso8859_10",
    "iso8859_11", "iso8859_13", "iso8859_14", "iso8859_15", "iso8859_16", "cp1250", "cp1251", "cp1252", "cp1253",
    "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp437", "cp850", "cp852", "cp866", "cp874", "tis_620", "koi8_r",
    "koi8_u", "mac_roman", "mac_cyrillic", "shift_jis", "cp932", "euc_jp", "iso2022_jp", "euc_kr", "cp949", "gb2312",
    "gbk", "gb18030", "big5", "big5hkscs", "cp950",
})
# fmt: on


def decoded(body: bytes, charset: str | None) -> str:
    """A body as text: in the charset that the service names if it is a real one, and else as UTF-8.

    What it cannot hold is replaced.
    """
    name = normalize_encoding((charset or "").encode("ascii", "ignore").decode()).lower()
    name = aliases.get(name, name)
    return body.decode(name if name in _CHARSETS else _UTF_8, "replace")
