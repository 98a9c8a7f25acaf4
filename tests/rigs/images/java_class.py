"""A Java program without a compiler: its class file, assembled here.

The image's runtime has no compiler, and a class file of this size is a page of bytes. It is of
version 49, the last one that needs no table of stack frames beside its loops.

    public static void main(String[] words) throws InterruptedException {
        int chunks = Integer.parseInt(words[0]) * 16;
        byte[][] held = new byte[chunks][];
        for (int i = 0; i < chunks; i++) held[i] = new byte[65520];
        Thread.sleep((long) (Integer.parseInt(words[1]) * 1000));
    }
"""

from __future__ import annotations

import struct
from typing import Final

NAME: Final = "Heap"
CHUNK_BYTES: Final = 65520
"""With its header, a sixteenth of a MiB."""
_VERSION: Final = 49
_PUBLIC, _STATIC, _SUPER = 0x0001, 0x0008, 0x0020


class _Constants:
    """The constant pool: each entry once, found by its bytes."""

    def __init__(self) -> None:
        self._entries: list[bytes] = []

    def _add(self, entry: bytes) -> int:
        if entry not in self._entries:
            self._entries.append(entry)
        return self._entries.index(entry) + 1

    def text(self, text: str) -> int:
        return self._add(struct.pack(">BH", 1, len(text)) + text.encode())

    def number(self, number: int) -> int:
        return self._add(struct.pack(">Bi", 3, number))

    def of_class(self, name: str) -> int:
        return self._add(struct.pack(">BH", 7, self.text(name)))

    def method(self, owner: str, name: str, kind: str) -> int:
        name_and_type = self._add(struct.pack(">BHH", 12, self.text(name), self.text(kind)))
        return self._add(struct.pack(">BHH", 10, self.of_class(owner), name_and_type))

    def to_bytes(self) -> bytes:
        return struct.pack(">H", len(self._entries) + 1) + b"".join(self._entries)


def heap_class() -> bytes:
    """The class ``Heap``: ``java Heap MIB SECONDS`` holds MIB of its heap for SECONDS."""
    constants = _Constants()
    this, above = constants.of_class(NAME), constants.of_class("java/lang/Object")
    code = _main(constants)
    attribute = struct.pack(">HHI", 4, 4, len(code)) + code + struct.pack(">HH", 0, 0)
    method = (
        struct.pack(">HHH", _PUBLIC | _STATIC, constants.text("main"),
                    constants.text("([Ljava/lang/String;)V"))
        + struct.pack(">HHI", 1, constants.text("Code"), len(attribute))
        + attribute
    )  # fmt: skip
    return b"".join(
        [
            struct.pack(">IHH", 0xCAFEBABE, 0, _VERSION),
            constants.to_bytes(),
            struct.pack(">HHH", _PUBLIC | _SUPER, this, above),
            struct.pack(">HHH", 0, 0, 1),
            method,
            struct.pack(">H", 0),
        ]
    )


def _main(constants: _Constants) -> bytes:
    parse = constants.method("java/lang/Integer", "parseInt", "(Ljava/lang/String;)I")
    sleep = constants.method("java/lang/Thread", "sleep", "(J)V")
    array = constants.of_class("[B")
    size = constants.number(CHUNK_BYTES)
    begin = bytes([0x2A, 0x03, 0x32, 0xB8, *parse.to_bytes(2, "big")])  # parseInt(words[0])
    begin += bytes([0x10, 16, 0x68, 0x3C])  # * 16 -> chunks
    begin += bytes([0x1B, 0xBD, *array.to_bytes(2, "big"), 0x4D])  # new byte[chunks][] -> held
    begin += bytes([0x03, 0x3E])  # 0 -> i
    body = bytes([0x2C, 0x1D, 0x12, size, 0xBC, 8, 0x53])  # held[i] = new byte[CHUNK_BYTES]
    body += bytes([0x84, 3, 1])  # i++
    test = bytes([0x1D, 0x1B, 0xA2])  # if i >= chunks, leave
    # A jump counts from its own first byte, and takes three.
    out = struct.pack(">h", 3 + len(body) + 3)
    back = bytes([0xA7]) + struct.pack(">h", -(len(test) + 2 + len(body)))
    loop = test + out + body + back
    end = bytes([0x2A, 0x04, 0x32, 0xB8, *parse.to_bytes(2, "big")])  # parseInt(words[1])
    end += bytes([0x11, *(1000).to_bytes(2, "big"), 0x68, 0x85])  # * 1000, as a long
    end += bytes([0xB8, *sleep.to_bytes(2, "big"), 0xB1])
    return begin + loop + end
