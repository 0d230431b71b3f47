import pytest

from giskard.checks.judges._evidence import is_blank


@pytest.mark.parametrize("value", [None, "", " \n\u00a0", b"", b" ", [], [""], [None, [" "]], (), set(), {}])
def test_blank(value):
    assert is_blank(value)


@pytest.mark.parametrize("value", [0, False, "x", b"x", ["", "x"], {"x": None}, 0.0, object()])
def test_not_blank(value):
    assert not is_blank(value)
