"""What a worker makes of an answer that is no HTTP, or is cut off: it was heard, maybe."""

from __future__ import annotations

import socket
import threading
from contextlib import closing

import pytest

import plimsoll_chunks


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"nonsense\r\n\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}", id="cut off"),
    ],
)
def test_a_broken_answer_is_one_that_a_worker_asks_again_for(answer: bytes) -> None:
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
        )
        with pytest.raises(OSError, match=r"nonsense|IncompleteRead"):
            plimsoll_chunks._call(worker, "next", None)
        answering.join()
