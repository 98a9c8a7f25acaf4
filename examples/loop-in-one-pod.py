"""Does items of a leased Job in several processes of one pod, as joblib and Dask do.

A range is done when all of its items are: the loop asks for the next one then. With joblib it is
``Parallel(n_jobs=4)(delayed(work)(item) for item in range(first, first + count))``. It needs
``plimsoll_chunks.py`` beside it. In a Job with one pod, leases make chunks fit the memory, and the
next pod goes on where a killed one was.
"""

from concurrent.futures import ProcessPoolExecutor

import plimsoll_chunks


def work(item: int) -> str:
    """Do one item."""
    return f"item {item}"


if __name__ == "__main__":
    with ProcessPoolExecutor(4) as pool:
        for first, count in plimsoll_chunks.ranges():
            for line in pool.map(work, range(first, first + count)):
                print(line)
