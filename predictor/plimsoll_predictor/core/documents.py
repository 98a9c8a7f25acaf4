"""Documents are written as JSON and read back; each field is checked against its declared type.

A document may come from an older version, a damaged disk or an attacker. Reading it ends in a value
of the right type or in one error, whose message names the field and says what is wrong with it.
No numpy here, because the agent reads documents too: ``packing`` adds arrays.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_args, get_origin

import msgspec

_LARGEST: Final = sys.float_info.max
Finite: TypeAlias = Annotated[float, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
"""A number that is neither infinite nor NaN."""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**62)]

T = TypeVar("T")

_writers: dict[type, Callable[[Any], object]] = {deque: list}
"""Type that JSON does not have -> how its values are written."""
_readers: dict[type, Callable[[Any, object], object]] = {
    deque: lambda kind, items: deque(msgspec.convert(items, GenericAlias(list, get_args(kind))))
}
"""Such a type -> how a value is read; it is given the type with its parameters as well."""


def add_form(
    kind: type,
    written: Callable[[Any], object],
    read: Callable[[Any, object], object] | None = None,
) -> None:
    """Teach documents one more type and its subclasses; ``read`` raises ValueError if wrong."""
    _writers[kind] = written
    if read is not None:
        _readers[kind] = read


def to_document(value: object) -> Any:
    """A value in plain JSON types; tuples stay tuples, which JSON writes as lists."""
    return msgspec.to_builtins(value, enc_hook=_written)


def to_sparse_document(value: object, *names: str) -> dict[str, Any]:
    """As ``to_document``, without the fields of these names that are empty or false."""
    document = to_document(value)
    return {key: data for key, data in document.items() if data or key not in names}


def from_document(
    kind: type[T],
    document: object,
    where: str,
    error: Callable[[str], ValueError] = ValueError,
) -> T:
    """The value of type ``kind`` that ``to_document`` wrote; fields it does not know are ignored.

    where: names the document in the message. error: makes the error from the message.

    Raises:
        ValueError: made by ``error``, naming the field that is missing or wrong.
    """
    try:
        return msgspec.convert(document, kind, dec_hook=_read)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise error(f"{where}: {wrong}") from wrong


def check_format(
    document: object, current: int, name: str, error: Callable[[str], ValueError]
) -> None:
    """Refuse what another version wrote, before its fields are read; ``error`` makes the error."""
    if not isinstance(document, Mapping):
        raise error(f"{name} is {type(document).__name__}, not an object of fields")
    if (written := document.get("format")) != current:
        raise error(f"{name} in format {str(written)[:20]}; this Plimsoll reads format {current}")


def _written(value: object) -> object:
    for kind, written in _writers.items():
        if isinstance(value, kind):
            return written(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in a document")


def _read(kind: Any, document: object) -> object:
    try:
        return _readers[get_origin(kind) or kind](kind, document)
    except msgspec.ValidationError as wrong:
        # msgspec adds the value's place to plain errors only.
        raise ValueError(str(wrong)) from wrong
