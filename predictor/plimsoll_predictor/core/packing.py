"""Arrays in documents, and the error and the checksum that all parts of a model share."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, get_args

import numpy as np
from msgspec import Struct, convert
from numpy.typing import NDArray

from plimsoll_predictor.core.documents import Count, add_form

MAX_ARRAY_BYTES: Final = 64 * 2**20
"""No array of a document is larger."""

IntVector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]
Int32Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int32]]
FloatVector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Float32Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float32]]
FloatMatrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
"""Arrays say their dimensions in their type, so that reading can check them."""

_PACKED_AS: Final[dict[Any, str]] = {
    np.float32: "<f4",
    np.float64: "<f8",
    np.int32: "<i4",
    np.intp: "<i4",
}
"""Type of an array in memory -> how its numbers are written."""


class ModelError(ValueError):
    """A model cannot be made or read. Train the task again, or restore the file from the store."""


class PackedArray(Struct, frozen=True):
    """An array in a document: its little-endian bytes are written as base64."""

    dtype: str
    shape: tuple[Count, ...]
    data: bytes


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


def packed(array: NDArray[Any]) -> PackedArray:
    """An array as it is written."""
    code = _PACKED_AS[array.dtype.type]
    return PackedArray(code, array.shape, np.ascontiguousarray(array, dtype=code).tobytes())


def unpacked(kind: Any, document: object) -> NDArray[Any]:
    """A read-only array of the type's dimensions and numbers, all of them finite."""
    array = convert(document, PackedArray)
    shape_kind, dtype_kind = get_args(kind)
    (scalar,) = get_args(dtype_kind)
    code, n_dimensions = np.dtype(_PACKED_AS[scalar]), len(get_args(shape_kind))
    if array.dtype != code.str or len(array.shape) != n_dimensions:
        raise ValueError(
            f"Expected {code.str} in {n_dimensions} dimension(s), got "
            f"{array.dtype[:8]} in {len(array.shape)}"
        )
    size_bytes = math.prod(array.shape) * code.itemsize
    if size_bytes != len(array.data) or size_bytes > MAX_ARRAY_BYTES:
        raise ValueError(f"Expected {size_bytes} bytes of data, got {len(array.data)}")
    values = np.frombuffer(array.data, dtype=code).reshape(array.shape)
    if not np.isfinite(values).all():
        raise ValueError("Expected finite numbers")
    return values.astype(scalar, copy=False)


add_form(np.ndarray, packed, unpacked)
add_form(np.generic, lambda scalar: scalar.item())
