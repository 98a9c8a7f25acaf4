"""Programs' words at their end, as they spell them, and their words about other things."""

from __future__ import annotations

import pytest

from plimsoll_operator.attempts.termination_messages import cause_said
from plimsoll_predictor.core.record import Cause

GPU = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total"
    " capacity of 79.15 GiB of which 1.02 GiB is free.",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB",
    "RuntimeError: CUDA error: out of memory",
    "RuntimeError: cuda runtime error (2) : out of memory at /aten/src/THC/THCStorage.cu:58",
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 MiB",
    "hipErrorOutOfMemory",
    "cudaErrorMemoryAllocation: out of memory",
    "failed to allocate 7.92G (8504868864 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
    "numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in"
    " CUDA_ERROR_OUT_OF_MEMORY",
    "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes",
    "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /rmm/mr/device/cuda.hpp",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.",
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.",
    "ResourceExhaustedError: OOM when allocating tensor with shape[64,3,224,224] on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED",
    "ggml_backend_cuda_buffer_type_alloc_buffer: 9 MiB: cudaMalloc failed: out of memory",
    "NCCL WARN Cuda failure 2 'out of memory'",
]
HEAPS = [
    ("java.lang.OutOfMemoryError: Java heap space", Cause.JVM),
    ("Terminating due to java.lang.OutOfMemoryError: GC overhead limit exceeded", Cause.JVM),
    ("Initial heap size set to a larger value than the maximum heap size", Cause.JVM),
    ("org.apache.spark.memory.SparkOutOfMemoryError: Unable to acquire 65536 bytes", Cause.SPARK),
    ("Unhandled exception. System.OutOfMemoryException: Array dimensions exceeded", Cause.DOTNET),
    ("GC heap initialization failed with error 0x8007000E", Cause.DOTNET),
    (
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        Cause.NODEJS,
    ),
    ("RangeError: Array buffer allocation failed", Cause.NODEJS),
    ("Traceback (most recent call last):\n  File ...\nMemoryError", Cause.PYTHON),
    ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB", Cause.PYTHON),
    ("pyarrow.lib.ArrowMemoryError: malloc of size 4096 failed", Cause.PYTHON),
    ("Worker exceeded 95% memory budget. Restarting", Cause.PYTHON),
    ("Error: cannot allocate vector of size 7.5 Gb", Cause.ALLOCATION),
    ("terminate called after throwing an instance of 'std::bad_alloc'", Cause.ALLOCATION),
    ("fatal error: runtime: out of memory", Cause.ALLOCATION),
    ("fork: Cannot allocate memory", Cause.ALLOCATION),
    (
        "duckdb.duckdb.OutOfMemoryException: Out of Memory Error: failed to allocate data of size"
        " 16.0 MiB (953.6 MiB/953.6 MiB used)",
        Cause.ALLOCATION,
    ),
    ("RuntimeError: [enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"
     ": you tried to allocate 4000000000000 bytes.", Cause.ALLOCATION),
    (
        "OOM when allocating tensor with shape[9] on /job:localhost/device:CPU:0 by allocator cpu",
        Cause.ALLOCATION,
    ),
]  # fmt: skip
NOTHING = [
    "",
    "Killed",
    "Segmentation fault (core dumped)",
    "KeyError: 'gpu'",
    "RuntimeError: CUDA error: device-side assert triggered",
    "RuntimeError: No CUDA GPUs are available",
    "java.lang.NullPointerException",
    "sqlite3.OperationalError: database or disk is full",
    "urllib3.exceptions.MaxRetryError: RESOURCE_EXHAUSTED: quota",
    "allocated 12 orders to 3 ships; memory of the last trip is kept",
]


@pytest.mark.parametrize("message", GPU)
def test_a_full_gpu_is_recognised_in_each_spelling(message: str) -> None:
    assert cause_said(message) is Cause.CUDA
    assert cause_said(f"Traceback\n{message}\nstopped\n") is Cause.CUDA
    assert cause_said(message.upper()) is Cause.CUDA


@pytest.mark.parametrize(("message", "cause"), HEAPS)
def test_a_full_heap_is_recognised(message: str, cause: Cause) -> None:
    assert cause_said(message) is cause
    assert cause_said(f"2026-01-01 ERROR {message}\nbye") is cause


@pytest.mark.parametrize("message", NOTHING)
def test_other_words_say_nothing_of_memory(message: str) -> None:
    assert cause_said(message) is None


@pytest.mark.parametrize(("heap", "cause"), HEAPS)
def test_a_heap_that_fills_after_the_gpu_is_what_ended_the_program(heap: str, cause: Cause) -> None:
    """Programs that spill to the host, or go on without a GPU, say both."""
    gone_on = f"CUDA out of memory. Going on without the GPU\n{heap}\n"
    assert cause_said(gone_on) is (Cause.CUDA if cause is Cause.ALLOCATION else cause)
    assert cause_said(f"{heap}\ntorch.OutOfMemoryError: CUDA out of memory\n") is Cause.CUDA


def test_a_gpu_and_a_heap_in_different_lines_are_not_taken_together() -> None:
    message = "using GPU 0\njava.lang.OutOfMemoryError: Java heap space"
    assert cause_said(message) is Cause.JVM
