"""Converts Kubernetes' quantities of memory and CPU. This is the project's only parser of them.

No library is used: the asyncio client has no quantity parser, and a client that has one would
cost admission more memory than everything else in it. The table is that of apimachinery's
``resource.Quantity``; a test compares the answers of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal, localcontext
from functools import lru_cache
from typing import Final

MAX_BYTES: Final = 2**63 - 1
"""Larger quantities are cut to this; Kubernetes' own arithmetic would overflow."""

_LONGEST_TEXT: Final = 64
_SHAPE: Final = re.compile(
    r"([+-]?)([0-9]*\.?[0-9]*)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?",
    re.ASCII,
)
_BINARY: Final = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
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
    **{suffix: Decimal(1 << bits) for suffix, bits in _BINARY},
}


class BadQuantity(ValueError):
    """A text that is not a quantity, or a negative one."""


def parse_bytes(text: object) -> int:
    """Return the bytes of a quantity such as ``1.5Gi``, rounded up; else raise ``BadQuantity``.

    >>> parse_bytes("1.5Gi"), parse_bytes("1e3"), parse_bytes("100m")
    (1610612736, 1000, 1)
    """
    return _parse(_text(text, int), 1)


def parse_millicores(text: object) -> int:
    """Return the thousandths of a core of a quantity such as ``1.5``; see ``parse_bytes``.

    >>> parse_millicores("1.5"), parse_millicores("250m"), parse_millicores(2)
    (1500, 250, 2000)
    """
    return _parse(_text(text, (int, float)), 1000)


def bytes_or_none(text: object) -> int | None:
    """Return the bytes of a quantity; None for anything else."""
    return _or_none(parse_bytes, text)


def millicores_or_none(text: object) -> int | None:
    """Return the thousandths of a core of a quantity; None for anything else."""
    return _or_none(parse_millicores, text)


def _or_none(parse: Callable[[object], int], text: object) -> int | None:
    try:
        return None if text is None else parse(text)
    except BadQuantity:
        return None


def _text(value: object, numbers: type | tuple[type, ...]) -> str:
    """Return a quantity's text, which YAML may have read as one of the types in ``numbers``."""
    if isinstance(value, numbers) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise _bad_quantity(value)
    return value


@lru_cache(maxsize=4096)  # the same few sizes come with every pod; decimals are slow
def _parse(text: str, units: int) -> int:
    match = _SHAPE.fullmatch(text)
    if match is None or not text:
        raise _bad_quantity(text)
    sign, digits, suffix, exponent = match.groups()
    with localcontext() as context:
        # This is exact for every text within _LONGEST_TEXT: nothing is lost before the rounding.
        context.prec = 2000
        scale = _SCALE[suffix] if exponent is None else Decimal(10) ** int(exponent)
        # "Gi" alone is zero for apimachinery too, and no error.
        number = Decimal(digits) if digits.strip(".") else Decimal(0)
        size = (number * scale * units).to_integral_value(ROUND_CEILING)
    if sign == "-" and size:
        raise BadQuantity(f"{text!r} is negative; a quantity starts at 0")
    return min(int(size), MAX_BYTES)


def _bad_quantity(text: object) -> BadQuantity:
    shown = repr(text)[:_LONGEST_TEXT]
    return BadQuantity(
        f"{shown} is not a quantity; write for example '512Mi' or '4G' of memory, '250m' of CPU"
    )


@lru_cache(maxsize=4096)
def format_bytes(size_bytes: int) -> str:
    """Return the shortest exact quantity in binary units, as the API server prints it.

    >>> format_bytes(1536 * 2**20), format_bytes(1000)
    ('1536Mi', '1000')
    """
    for suffix, bits in _BINARY:
        if size_bytes and size_bytes % (1 << bits) == 0:
            return f"{size_bytes >> bits}{suffix}"
    return str(size_bytes)


def quantity_or_none(amount: int | None, written: Callable[[int], str]) -> str | None:
    """Return the quantity as ``written`` makes it; None for None."""
    return None if amount is None else written(amount)


@lru_cache(maxsize=4096)
def format_millicores(millicores: int) -> str:
    """Return the quantity as the API server prints it.

    >>> format_millicores(250), format_millicores(2000)
    ('250m', '2')
    """
    return f"{millicores}m" if millicores % 1000 else str(millicores // 1000)
