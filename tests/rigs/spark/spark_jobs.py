"""Jobs of a real Spark, run in its driver's pod: ``spark-submit /opt/jobs.py JOB ROWS ...``.

join ROWS     joins two tables of so many rows, and adds up
sort ROWS     sorts so many rows
whole ROWS    a Python function that holds each partition of a shuffle as a list
found NAME    tells what a property is
... NAME=VALUE    set in the application's code

The last line says what came out and how long it took, without the start of Spark and its
executors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any


def main() -> None:
    """Run one job."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    job, what, *given = sys.argv[1:]
    builder = SparkSession.builder
    for each in given:
        name, _, value = each.partition("=")
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if job == "found":
        print("FOUND", session.conf.get(what, "nothing"), flush=True)
        session.stop()
        return
    rows = int(what)
    # The first job waits for executors, which is no time of its own.
    session.range(0, 8, 1, 4).count()
    began_s = time.monotonic()
    keyed = session.range(rows).select(
        (f.col("id") * 7919 % max(1, rows // 4)).alias("key"), f.col("id").alias("value")
    )
    if job == "join":
        # A broadcast has no shuffle.
        session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
        other = session.range(rows // 4).select(f.col("id").alias("key"), f.rand(7).alias("weight"))
        out = keyed.join(other, "key").groupBy("key").agg(f.sum("value").alias("of")).count()
    elif job == "sort":
        # Whatever is added up needs no order, and is not sorted.
        keyed.sort("key", "value").write.format("noop").mode("overwrite").save()
        out = rows
    else:
        # A hash cannot be packed: what is shuffled is as large as it looks.
        wide = keyed.selectExpr("key", "sha2(cast(value as string), 512) as text")
        out = wide.repartition("key").rdd.mapPartitions(_whole).sum()
    print("DONE", job, out, f"{time.monotonic() - began_s:.2f}", flush=True)
    session.stop()


def _whole(rows: Iterator[Any]) -> Iterator[int]:
    held = [(row.key, row.text * 20) for row in rows]
    yield len(held)


if __name__ == "__main__":
    main()
