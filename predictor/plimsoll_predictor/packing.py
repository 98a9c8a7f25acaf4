"""Reading models back from JSON: every field is checked, because the file may be anything.

Models are data. A damaged, foreign or hostile dict ends in a ``ModelError`` with a sentence,
never in another exception, a hang or a model that answers nonsense.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

MAX_ARRAY_BYTES: Final = 64 * 2**20
"""No array of a model is larger; a claim of more is damage, and is refused before decoding."""

_DTYPES: Final = {"<f4": np.float32, "<f8": np.float64, "<i4": np.int32}

Scalar = TypeVar("Scalar", bound=np.generic)


class ModelError(ValueError):
    """A model cannot be made or read. Train the task again, or restore the file from the store."""


def digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of plain JSON types, independent of key order.

    Raises:
        ModelError: if the data is not plain, finite JSON.
    """
    try:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"model data is not plain JSON ({error}); train the task again") from error
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """An array as dtype, shape and base64 of its little-endian bytes."""
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return {
        "dtype": little.dtype.str.replace("|", "<"),
        "shape": list(array.shape),
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


@dataclass(frozen=True, slots=True)
class Fields:
    """A dict of unknown origin, read field by field. ``where`` names it in errors."""

    data: Mapping[str, Any]
    where: str

    @classmethod
    def of(cls, data: object, where: str) -> Fields:
        """Check that it is a dict at all."""
        if not isinstance(data, Mapping):
            raise ModelError(f"{where} is {_kind(data)}, not an object; train the task again")
        return cls(data, where)

    def wrong(self, key: str, expected: str) -> ModelError:
        """The error for a field that is not what it should be."""
        found = repr(self.data.get(key))[:80]
        return ModelError(
            f"{self.where}: {key!r} is {found}, expected {expected}; train the task again"
        )

    def raw(self, key: str) -> Any:
        """The field as it is; it must be there."""
        if key not in self.data:
            raise ModelError(f"{self.where} has no {key!r}; train the task again")
        return self.data[key]

    def text(self, key: str, longest: int = 1024) -> str:
        """A string of bounded length."""
        value = self.raw(key)
        if not isinstance(value, str) or len(value) > longest:
            raise self.wrong(key, f"text of at most {longest} characters")
        return value

    def integer(self, key: str, least: int, most: int) -> int:
        """An int within bounds, both included."""
        value = self.raw(key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.wrong(key, f"a whole number from {least} to {most}")
        return value

    def number(self, key: str) -> float:
        """A finite number."""
        number = finite(self.raw(key))
        if number is None:
            raise self.wrong(key, "a finite number")
        return number

    def items(self, key: str, most: int) -> list[Any]:
        """A list of bounded length."""
        value = self.raw(key)
        if not isinstance(value, list | tuple) or len(value) > most:
            raise self.wrong(key, f"a list of at most {most}")
        return list(value)

    def texts(self, key: str, most: int) -> tuple[str, ...]:
        """A list of strings."""
        values = self.items(key, most)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, "a list of texts")
        return tuple(values)

    def array(self, key: str, dtype: type[Scalar], dimensions: int) -> NDArray[Scalar]:
        """A packed array of that dtype and number of dimensions; read-only, and finite."""
        packed = Fields.of(self.raw(key), f"{self.where}: {key}")
        code = packed.text("dtype", 8)
        if _DTYPES.get(code) is not dtype:
            raise packed.wrong("dtype", np.dtype(dtype).str)
        shape = _shape(packed, dimensions)
        count = math.prod(shape)
        if count * np.dtype(dtype).itemsize > MAX_ARRAY_BYTES:
            raise packed.wrong("shape", f"at most {MAX_ARRAY_BYTES} bytes")
        array = np.frombuffer(_decoded(packed), dtype=np.uint8)
        if array.size != count * np.dtype(dtype).itemsize:
            raise packed.wrong("shape", f"a shape of {array.size} bytes")
        values = array.view(code).astype(dtype, copy=False).reshape(shape)
        if not np.isfinite(values.astype(np.float64)).all():
            raise ModelError(f"{packed.where} holds values that are not finite; train again")
        return values


def finite(value: object) -> float | None:
    """A JSON number as a finite float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _shape(packed: Fields, dimensions: int) -> tuple[int, ...]:
    shape = packed.items("shape", dimensions)
    whole = all(isinstance(size, int) and not isinstance(size, bool) for size in shape)
    if len(shape) != dimensions or not whole or any(size < 0 for size in shape):
        raise packed.wrong("shape", f"{dimensions} sizes")
    return tuple(shape)


def _decoded(packed: Fields) -> bytes:
    try:
        return base64.b64decode(packed.text("data", 2 * MAX_ARRAY_BYTES), validate=True)
    except (binascii.Error, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{packed.where} is not base64 ({error}); train again") from error


def _kind(value: object) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"
