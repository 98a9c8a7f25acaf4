"""Parts of the forecaster's state as compact bytes: a JSON head and arrays, compressed.

The bytes name the grid and the experts they were made with. Bytes of another grid or other experts
are refused, so that a new version starts afresh instead of reading counts into the wrong bins.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import LOW, N_BINS, WIDTH, FloatArray
from plimsoll_predictor.runtimes.forecasting.settings import Settings

_VERSION: Final = 1
_MOST_BYTES: Final = 1 << 20
_LEVEL: Final = 6
_HEAD_BYTES: Final = 4
_TYPES: Final = ("<f4", "<f8")


class StateBytes:
    """Writes and reads parts of the state of one configuration."""

    def __init__(self, settings: Settings) -> None:
        halves = [*settings.task_half_lives, *settings.owner_half_lives]
        grid = f"{LOW}:{WIDTH}:{N_BINS}"
        self._made = f"{_VERSION}/{grid}/{','.join(map(str, halves))}/{settings.first_slow}"

    def write(self, kind: str, head: dict[str, Any], arrays: Sequence[FloatArray]) -> bytes:
        """The same values give the same bytes. Arrays are float32 or float64."""
        shapes = [[array.dtype.newbyteorder("<").str, *array.shape] for array in arrays]
        written = json.dumps(
            {"made": self._made, "kind": kind, "arrays": shapes, **head},
            separators=(",", ":"),
            sort_keys=True,
        ).encode()
        body = b"".join(
            array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes() for array in arrays
        )
        return zlib.compress(len(written).to_bytes(_HEAD_BYTES, "big") + written + body, _LEVEL)

    def read(self, kind: str, state: bytes, count: int) -> tuple[dict[str, Any], list[FloatArray]]:
        """Return the head and so many arrays, each writable.

        Raises ValueError for bytes that ``write`` of this configuration did not make.
        """
        try:
            plain = _inflated(state)
            size = int.from_bytes(plain[:_HEAD_BYTES], "big")
            head = json.loads(plain[_HEAD_BYTES : _HEAD_BYTES + size])
            if head["made"] != self._made or head["kind"] != kind:
                raise ValueError(f"it was made as {head['kind']!r} by {head['made']!r}")
            arrays = _arrays(head["arrays"], plain[_HEAD_BYTES + size :])
            if len(arrays) != count:
                raise ValueError(f"it has {len(arrays)} arrays, not {count}")
            return head, arrays
        except (KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
            raise ValueError(
                f"this is no state of {kind!r} for forecasts ({error}); forget it and learn again"
            ) from error


def packed(array: FloatArray) -> str:
    """A float32 array as text in a head, where a version that does not know it passes it over."""
    return b64encode(array.astype("<f4", copy=False).tobytes()).decode()


def unpacked(written: Any, *shape: int) -> FloatArray:
    """What ``packed`` wrote, of this shape; ValueError for anything else."""
    if not isinstance(written, str):
        raise ValueError(f"{type(written).__name__} stands where an array belongs")
    array = np.frombuffer(b64decode(written, validate=True), "<f4").astype(np.float32)
    return shaped(array.reshape(shape), *shape)


def numbers(written: Any) -> FloatArray:
    """Numbers of a head; ValueError for anything else."""
    try:
        return np.array(written, dtype=np.float64)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"what should be numbers is not ({error})") from error


def shaped(array: FloatArray, *shape: int) -> FloatArray:
    """The array, if it has this shape and holds numbers of at least 0; ValueError if not."""
    if array.shape != shape:
        raise ValueError(f"an array of {array.shape} stands where {shape} belongs")
    if not np.all(np.isfinite(array)) or np.any(array < 0):
        raise ValueError("an array holds what is no count")
    return array


def _inflated(state: bytes) -> bytes:
    inflating = zlib.decompressobj()
    plain = inflating.decompress(state, _MOST_BYTES)
    if not inflating.eof:
        raise ValueError("it is cut short or too large")
    return plain


def _arrays(shapes: list[list[Any]], body: bytes) -> list[FloatArray]:
    arrays: list[FloatArray] = []
    at = 0
    for kind, *shape in shapes:
        if kind not in _TYPES or any(size < 0 for size in shape):
            raise ValueError(f"arrays of {kind!r} and {shape!r} are never written")
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64)) if shape else 1
        array = np.frombuffer(body, dtype, count, at).reshape(shape)
        arrays.append(array.astype(dtype.newbyteorder("="), copy=True))
        at += count * dtype.itemsize
    if at != len(body):
        raise ValueError("bytes are left over")
    return arrays
