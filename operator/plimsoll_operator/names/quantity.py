"""Kubernetes quantities of memory and CPU, to numbers and back. The only parser in the project.

Written out, not imported: the asyncio client has no quantity parser, and the other clients that do
would cost admission more memory than everything else in it. The table is the one of apimachinery's
``resource.Quantity``; a test compares it with what the real one answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal, localcontext
from functools import lru_cache
from typing import Final

MAX_BYTES: Final = 2**63 - 1
"""Larger quantities are cut to it; Kubernetes' own arithmetic would overflow there."""

_LONGEST_TEXT: Final = 64
_SHAPE: Final = re.compile(
    r"([+-]?)([0-9]*\.?[0-9]*)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?",
    re.ASCII,
)
_SCALE: Final[dict[str | None, Decimal]] = {
    None: Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_PRINTED: Final = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


class BadQuantity(ValueError):
    """A text that is not a quantity of memory."""


def parse_bytes(text: object) -> int:
    """Bytes of a quantity such as ``1.5Gi``; part of a byte counts as a whole one.

    >>> parse_bytes("1.5Gi"), parse_bytes("1e3"), parse_bytes("100m")
    (1610612736, 1000, 1)

    Raises:
        BadQuantity: if it is no quantity, or a negative one.

    """
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise _not_one(text)
    return _parse(text)


def parse_millicores(text: object) -> int:
    """Thousandths of a core of a quantity such as ``1.5`` or ``250m``; part of one counts whole.

    >>> parse_millicores("1.5"), parse_millicores("250m"), parse_millicores(2)
    (1500, 250, 2000)

    Raises:
        BadQuantity: if it is no quantity, or a negative one.

    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise _not_one(text)
    return _parse(text, 1000)


def bytes_or_none(text: object) -> int | None:
    """Bytes of a quantity; None for none, and for what is no quantity."""
    return _or_none(parse_bytes, text)


def millicores_or_none(text: object) -> int | None:
    """Thousandths of a core of a quantity; None for none, and for what is no quantity."""
    return _or_none(parse_millicores, text)


def _or_none(parse: Callable[[object], int], text: object) -> int | None:
    try:
        return None if text is None else parse(text)
    except BadQuantity:
        return None


@lru_cache(maxsize=4096)  # the same few sizes come with every pod; decimals are slow
def _parse(text: str, units: int = 1) -> int:
    match = _SHAPE.fullmatch(text)
    if match is None or not text:
        raise _not_one(text)
    sign, digits, suffix, exponent = match.groups()
    with localcontext() as context:
        # Exact for every text that fits in _LONGEST_TEXT, so that nothing is lost before rounding.
        context.prec = 2000
        scale = _SCALE[suffix] if exponent is None else Decimal(10) ** int(exponent)
        # "Gi" alone is nothing to apimachinery too, and no error.
        number = Decimal(digits) if digits.strip(".") else Decimal(0)
        size = (number * scale * units).to_integral_value(ROUND_CEILING)
    if sign == "-" and size:
        raise BadQuantity(f"{text!r} is negative; a quantity starts at 0")
    return min(int(size), MAX_BYTES)


def _not_one(text: object) -> BadQuantity:
    shown = repr(text)[:_LONGEST_TEXT]
    return BadQuantity(
        f"{shown} is not a quantity; write for example '512Mi' or '4G' of memory, '250m' of CPU"
    )


@lru_cache(maxsize=4096)
def format_bytes(size_bytes: int) -> str:
    """The shortest exact quantity in binary units, as the API server prints it.

    >>> format_bytes(1536 * 2**20), format_bytes(1000)
    ('1536Mi', '1000')
    """
    for suffix, bits in _PRINTED:
        if size_bytes and size_bytes % (1 << bits) == 0:
            return f"{size_bytes >> bits}{suffix}"
    return str(size_bytes)


@lru_cache(maxsize=4096)
def format_millicores(millicores: int) -> str:
    """The quantity as the API server prints it.

    >>> format_millicores(250), format_millicores(2000)
    ('250m', '2')
    """
    return f"{millicores}m" if millicores % 1000 else str(millicores // 1000)
