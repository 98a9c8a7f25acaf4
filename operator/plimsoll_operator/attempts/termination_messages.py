"""Reads from a container's last words why it ended. Pure.

The words are its termination message: the file that it wrote, or its last lines of log, if its
author asked for them (terminationMessagePolicy: FallbackToLogsOnError). They are looked for and
never shown, because a log may hold what is secret.
"""

from __future__ import annotations

from typing import Final

from plimsoll_predictor.core.record import Cause

_GPU_WORDS: Final = (
    "cuda",
    "gpu",
    "cublas",
    "cudnn",
    "cusolver",
    "cusparse",
    "cufft",
    "curand",
    "cupy",
    "nccl",
    "rmm::",
    "hip error",
    "hiperror",
    "hip out of memory",
    "hip_",
    "rocm",
    "xpu out of",
)
_FULL_WORDS: Final = (
    "out of memory",
    "out_of_memory",
    "outofmemory",
    "alloc_failed",
    "allocation_failed",
    "memoryallocation",
    "failed to allocate",
    "malloc failed",
    "insufficient_resources",
)
"""A line with a word of each group says that a GPU's memory was full."""
_GPU_SENTENCES: Final = (
    "torch.outofmemoryerror",
    "resource_exhausted: out of memory",
    "resource_exhausted: oom when allocating",
    "oom when allocating tensor",
)
"""PyTorch, JAX and TensorFlow say this about their devices without naming a GPU."""
_HOST_WORDS: Final = (
    "device:cpu",
    "by allocator cpu",
    "by allocator mklcpu",
    "defaultcpuallocator",
)
"""A line with one of these is about the host's memory, whatever else it names."""

_HOST_CAUSES: Final = (
    (Cause.SPARK, ("sparkoutofmemoryerror",)),
    (
        Cause.JVM,
        (
            "java.lang.outofmemoryerror",
            "outofmemoryerror: java heap space",
            "gc overhead limit exceeded",
            "insufficient memory for the java runtime environment",
            "could not reserve enough space for object heap",
            "could not reserve enough space for the object heap",
            "initial heap size set to a larger value than the maximum heap size",
            "too small maximum heap",
        ),
    ),
    (
        Cause.DOTNET,
        (
            "system.outofmemoryexception",
            "insufficient memory to continue the execution of the program",
            "gc heap initialization failed",
        ),
    ),
    (
        Cause.NODEJS,
        (
            "javascript heap out of memory",
            "reached heap limit",
            "process out of memory",
            "array buffer allocation failed",
        ),
    ),
    # Dask's nanny says: "Worker ... exceeded 95% memory budget".
    (Cause.PYTHON, ("memoryerror", "% memory budget")),
    (
        Cause.ALLOCATION,
        (
            "out of memory",
            "outofmemory",
            "cannot allocate memory",
            "can't allocate memory",
            "cannot allocate vector",
            "failed to allocate",
            "memory exhausted",
            "nomemoryerror",
            "std::bad_alloc",
            # Beside one of _HOST_WORDS they are about the host. Other lines with them are a GPU's.
            *_GPU_SENTENCES,
        ),
    ),
)
"""What runtimes and programs say about the host's memory; the first match counts."""

_HEAPS: Final = frozenset({Cause.SPARK, Cause.JVM, Cause.DOTNET, Cause.NODEJS, Cause.PYTHON})

_INIT_KILLED: Final = "oom-killed (memory limit too low"
"""Said by runc, which runs within the limit before the container's own program does."""


def cause_said(message: str) -> Cause | None:
    """What the words say about memory; None if they say nothing about it.

    message: bounded by its reader.

    >>> cause_said("RuntimeError: CUDA error: out of memory")
    <Cause.CUDA: 'cuda'>
    """
    if not message:
        return None
    words = message.lower()
    lines = words.splitlines()
    of_gpus = [number for number, line in enumerate(lines) if _is_gpus(line)]
    if not of_gpus:
        return _of_host(words)
    # A program that goes on without its GPU may fill its heap then, and ends by that. Other words
    # about the host may be the rest of what was said about the GPU.
    after = _of_host("\n".join(lines[of_gpus[-1] + 1 :]))
    return after if after in _HEAPS else Cause.CUDA


def _of_host(words: str) -> Cause | None:
    for cause, sentences in _HOST_CAUSES:
        # The class's name ends like Python's, but is not Python's.
        text = words.replace("outofmemoryerror", "") if cause is Cause.PYTHON else words
        if any(sentence in text for sentence in sentences):
            return cause
    return None


def limit_stopped_start(message: str) -> bool:
    """Say whether the container's limit was too small even for its start."""
    return _INIT_KILLED in message.lower()


def _is_gpus(line: str) -> bool:
    if any(word in line for word in _HOST_WORDS):
        return False
    if any(sentence in line for sentence in _GPU_SENTENCES):
        return True
    return any(word in line for word in _FULL_WORDS) and any(word in line for word in _GPU_WORDS)
