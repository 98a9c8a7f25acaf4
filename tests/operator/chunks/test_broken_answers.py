"""A worker treats an answer that makes no sense like no answer: it does its share."""

from __future__ import annotations

import socket
import threading
from contextlib import closing

import pytest

import plimsoll_chunks


def http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"nonsense\r\n\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}", id="cut off"),
        pytest.param(http(b"[]"), id="no object"),
        pytest.param(http(b'{"so": 1}'), id="another object"),
        pytest.param(http(b'{"lease": 1, "first": 0, "items": 1}'), id="no end"),
        pytest.param(http(b'{"lease": 1, "first": 0, "items": 9, "end": 9}'), id="too many items"),
        pytest.param(http(b'{"lease": 1, "first": 0, "items": 0, "end": 1}'), id="no items"),
        pytest.param(http(b'{"lease": [], "first": 0, "items": 1, "end": 1}'), id="no number"),
    ],
)
def test_a_broken_answer_is_as_none(answer: bytes) -> None:
    def answer_once() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        answering = threading.Thread(target=answer_once)
        answering.start()
        worker = plimsoll_chunks.Worker(
            name="w",
            total=1,
            index=0,
            shares=1,
            url=f"http://127.0.0.1:{listening.getsockname()[1]}",
            alone_after_s=0.0,
        )
        assert list(plimsoll_chunks.ranges(worker)) == [(0, 1)]
        answering.join()
