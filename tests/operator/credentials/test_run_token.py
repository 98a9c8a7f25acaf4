"""The token that the processes of ``plimsoll run`` share, in a file of its folder."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from plimsoll_operator.credentials.token_file import read_token, token_file_in


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(None, id="the first start"),
        pytest.param(b"", id="after a start on a full disk"),
        pytest.param(b"\0\0\0\0", id="after a node that lost its power"),
    ],
)
def test_a_start_that_finds_no_token_makes_one_that_stays(
    tmp_path: Path, left: bytes | None
) -> None:
    if left is not None:
        (tmp_path / "token").write_bytes(left)
    path = token_file_in(tmp_path)
    token = read_token(path)
    assert len(token) > 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["token"]
    assert read_token(token_file_in(tmp_path)) == token


def test_a_token_that_could_not_be_written_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space left"):
            token_file_in(tmp_path)
    assert not (tmp_path / "token").exists()
    assert read_token(token_file_in(tmp_path))
