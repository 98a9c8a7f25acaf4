"""Stands in for a trainer: what it does is in its task's name; what it did, in $TRAINER_LOG.

Takes the arguments of ``plimsoll train``. Each start and end is one line: word, task, pid, time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def note(word: str, task: str, pid: int) -> None:
    with open(os.environ["TRAINER_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{word} {task} {pid} {time.monotonic()}\n")


def main() -> int:
    task = sys.argv[1]
    name = task.split("/")[1]
    note("start", task, os.getpid())
    if name.startswith("hangs"):
        child = subprocess.Popen(["sleep", "60"])
        note("child", task, child.pid)
        child.wait()
    if name.startswith("slow"):
        time.sleep(0.4)
    if name.startswith("fails"):
        recorded = name.endswith("recorded")
        said = {"ok": False, "task": task, "message": "no needs", "recorded": recorded}
    elif name.startswith("garbles"):
        print("[13:00:00] WARNING: something\nnot JSON")
        return 1
    else:
        said = {"ok": True, "task": task, "version": "abc"}
    note("end", task, os.getpid())
    print(json.dumps(said))
    return 0 if said["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
