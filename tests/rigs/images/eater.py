"""A pod's program of a few kilobytes that uses memory for real, in the ways that tasks do.

/task eat MIB [SECONDS [AFTER]]   wait AFTER seconds, take MIB, hold it for SECONDS
/task grow MIB GROWS HOLDS        take MIB in equal steps over GROWS seconds, hold it for HOLDS
/task steps MIB S [MIB S ...]     take each MIB more, and wait S seconds after it
/task pace BASE AFTER MIB KIB_S HOLDS
                                  hold BASE for AFTER seconds, take MIB more at KIB_S a second,
                                  hold all for HOLDS seconds
/task fill MIB HOLDS              hold 8 MiB, write a file of MIB and read it, wait HOLDS seconds
/task stream FILE                 hold 8 MiB and read a file twice, whatever its size
/task child MIB                   a child takes MIB; its end, however bad, is ignored
/task worker MIB                  a child takes MIB; where it ends badly, so does its parent
/task spin SECONDS                use all the CPU one thread can get
/task turns N MILLIONS MS         N times: so many steps of arithmetic, then a pause; how long all
                                  took, in ms, is the container's termination message
/task walk MIB MILLIONS           so many steps from one place to another of MIB, by chance; tells
                                  how long it took in the same way
/task heed BASE AFTER MIB KIB_S HOLDS
                                  as pace, but by a MiB a second at most where its limit is near
/task share KIB US [US ...]       do this pod's share of a Job's items (PLIMSOLL_ITEMS ×
                                  JOB_COMPLETION_INDEX ÷ PLIMSOLL_SHARES and on, or as
                                  PLIMSOLL_STARTS lists them): hold KIB more for each, and wait one
                                  of the given times; its first item and how many it did are the
                                  container's termination message
/task heap MIB                    end with exit 1 if the limit is below MIB
/task cache PERCENT               take that share of the limit
/task yield FILE MIB CODE         hold 8 MiB, write a file of MIB, and end with CODE at SIGTERM

A pause in whole seconds is over at once when the process is sent SIGUSR1, see `goes_on`.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from pathlib import Path
from typing import Any

from deploy.local.images.archive import write_image
from deploy.local.images.on_node import compile_static, load_image
from deploy.local.layout import Layout

IMAGE = "localhost/plimsoll-eater:14"
STREAMER_MIB = 8
"""Memory of streaming beside the file's pages."""

_SOURCE = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define NEAR_MIB 24
static unsigned number(int argc, char **argv, int at) {
  return argc > at ? (unsigned)strtoul(argv[at], 0, 10) : 0;
}
static void rest(unsigned seconds) {
  struct timespec most = {seconds, 0};
  sigset_t go_on;
  sigemptyset(&go_on);
  sigaddset(&go_on, SIGUSR1);
  sigtimedwait(&go_on, 0, &most);
}
static void went_on(int number) { (void)number; }
static int yields_with;
static void yield(int number) {
  (void)number;
  _exit(yields_with);
}
static void eat(unsigned mib) {
  for (unsigned i = 0; i < mib; i++) memset(malloc(1 << 20), 1, 1 << 20);
}
static void grow(unsigned mib, unsigned seconds) {
  for (unsigned i = 0; i < mib; i++) {
    long long step_ns = 1000000000LL * seconds / mib;
    struct timespec pause = {step_ns / 1000000000LL, step_ns % 1000000000LL};
    eat(1);
    nanosleep(&pause, 0);
  }
}
static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
static void pace(unsigned mib, unsigned kib_s) {
  double began = seconds_now();
  for (unsigned i = 0; i < mib; i++) {
    eat(1);
    double ahead = (i + 1) * 1024.0 / kib_s - (seconds_now() - began);
    if (ahead > 0) {
      struct timespec pause = {(time_t)ahead, (long)((ahead - (time_t)ahead) * 1e9)};
      nanosleep(&pause, 0);
    }
  }
}
static unsigned limit_mib(void);
static void heed(unsigned base, unsigned mib, unsigned kib_s) {
  for (unsigned i = 0; i < mib; i++) {
    unsigned near = base + i + NEAR_MIB >= limit_mib();
    long long step_ns = near ? 1000000000LL : 1024 * 1000000000LL / kib_s;
    struct timespec pause = {step_ns / 1000000000LL, step_ns % 1000000000LL};
    eat(1);
    nanosleep(&pause, 0);
  }
}
static int fill(const char *path, unsigned mib) {
  char *buffer = malloc(1 << 20);
  memset(buffer, 1, 1 << 20);
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0) return 1;
  for (unsigned i = 0; i < mib; i++)
    if (write(file, buffer, 1 << 20) < 0) return 1;
  lseek(file, 0, SEEK_SET);
  while (read(file, buffer, 1 << 20) > 0);
  return 0;
}
static int tell_since(double began) {
  int file = open("/dev/termination-log", O_WRONLY);
  return file < 0 || dprintf(file, "%.0f", (seconds_now() - began) * 1000) < 0;
}
static int turns(unsigned times, unsigned millions, unsigned pause_ms) {
  struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000L};
  double began = seconds_now();
  volatile unsigned done = 0;
  for (unsigned i = 0; i < times; i++) {
    for (unsigned long step = 0; step < millions * 1000000UL; step++) done += step;
    nanosleep(&pause, 0);
  }
  return tell_since(began);
}
static int walk(unsigned mib, unsigned millions) {
  size_t places = (size_t)mib << 17, at = 1;
  void *room_from;
  /* Huge pages: to touch small ones first would take a slow node longer than the walk. */
  if (!places || posix_memalign(&room_from, 2 << 20, places * 8)) return 1;
  double began = seconds_now();
  madvise(room_from, places * 8, MADV_HUGEPAGE);
  memset(room_from, 0, places * 8);
  volatile unsigned long long *room = room_from;
  for (size_t step = 0; step < millions * 1000000UL; step++) {
    at = (at * 6364136223846793005ULL + 1442695040888963407ULL + room[at % places]);
    room[(at >> 20) % places]++;
  }
  return tell_since(began);
}
static unsigned long told(const char *name) {
  const char *text = getenv(name);
  return text ? strtoul(text, 0, 10) : 0;
}
static unsigned long listed(const char *starts, unsigned long at) {
  char *next = (char *)starts;
  unsigned long first = strtoul(next, &next, 10);
  while (at--) first = strtoul(next, &next, 10);
  return first;
}
static int share(int argc, char **argv) {
  unsigned long items = told("PLIMSOLL_ITEMS"), shares = told("PLIMSOLL_SHARES");
  unsigned long index = told("JOB_COMPLETION_INDEX"), times = argc - 3;
  if (!items || !shares || argc < 4) return 2;
  unsigned long first = items * index / shares, end = items * (index + 1) / shares;
  const char *starts = getenv("PLIMSOLL_STARTS");
  if (starts && *starts) first = listed(starts, index), end = listed(starts, index + 1);
  for (unsigned long item = first; item < end; item++) {
    /* By a hash, so that long ones come in no order. */
    unsigned us = number(argc, argv, 3 + (item * 2654435761UL >> 7) % times);
    size_t bytes = (size_t)number(argc, argv, 2) << 10;
    struct timespec pause = {us / 1000000, us % 1000000 * 1000L};
    if (bytes) memset(malloc(bytes), 1, bytes);
    nanosleep(&pause, 0);
  }
  int file = open("/dev/termination-log", O_WRONLY);
  return file < 0 || dprintf(file, "%lu %lu", first, end - first) < 0;
}
static unsigned limit_mib(void) {
  const char *paths[] = {"/sys/fs/cgroup/memory.max",
                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  for (int i = 0; i < 2; i++) {
    char text[64] = {0};
    int file = open(paths[i], O_RDONLY);
    if (file < 0) continue;
    int length = read(file, text, sizeof text - 1);
    close(file);
    if (length > 0 && text[0] != 'm') return (unsigned)(strtoull(text, 0, 10) >> 20);
  }
  return 1 << 20;
}
static int stream(const char *path) {
  char *buffer = malloc(1 << 20);
  for (int round = 0; round < 2; round++) {
    int file = open(path, O_RDONLY);
    if (file < 0) return 1;
    while (read(file, buffer, 1 << 20) > 0);
    close(file);
  }
  sleep(2);
  return 0;
}
int main(int argc, char **argv) {
  if (argc < 3) return 2;
  sigset_t go_on;
  sigemptyset(&go_on);
  sigaddset(&go_on, SIGUSR1);
  sigprocmask(SIG_BLOCK, &go_on, 0);
  signal(SIGUSR1, went_on); /* Never called: it shows that the signal is waited for. */
  if (!strcmp(argv[1], "eat")) {
    rest(number(argc, argv, 4));
    eat(number(argc, argv, 2));
    rest(number(argc, argv, 3));
    return 0;
  }
  if (!strcmp(argv[1], "grow")) {
    grow(number(argc, argv, 2), number(argc, argv, 3));
    rest(number(argc, argv, 4));
    return 0;
  }
  if (!strcmp(argv[1], "steps")) {
    for (int at = 2; at < argc; at += 2) {
      eat(number(argc, argv, at));
      rest(number(argc, argv, at + 1));
    }
    return 0;
  }
  if (!strcmp(argv[1], "pace")) {
    eat(number(argc, argv, 2));
    rest(number(argc, argv, 3));
    pace(number(argc, argv, 4), number(argc, argv, 5));
    rest(number(argc, argv, 6));
    return 0;
  }
  if (!strcmp(argv[1], "heed")) {
    eat(number(argc, argv, 2));
    rest(number(argc, argv, 3));
    heed(number(argc, argv, 2), number(argc, argv, 4), number(argc, argv, 5));
    rest(number(argc, argv, 6));
    return 0;
  }
  if (!strcmp(argv[1], "fill")) {
    eat(8);
    if (fill("/fill", number(argc, argv, 2))) return 1;
    rest(number(argc, argv, 3));
    return 0;
  }
  if (!strcmp(argv[1], "yield")) {
    yields_with = (int)number(argc, argv, 4);
    signal(SIGTERM, yield); /* Before the file, as the node may look at once. */
    eat(8);
    if (fill(argv[2], number(argc, argv, 3))) return 1;
    for (;;) pause();
  }
  if (!strcmp(argv[1], "stream")) {
    eat(8);
    return stream(argv[2]);
  }
  if (!strcmp(argv[1], "heap")) {
    if (limit_mib() < number(argc, argv, 2)) return 1;
    eat(8);
    sleep(2);
    return 0;
  }
  if (!strcmp(argv[1], "cache")) {
    eat(limit_mib() / 100.0 * number(argc, argv, 2));
    sleep(2);
    return 0;
  }
  if (!strcmp(argv[1], "spin")) {
    time_t end = time(0) + number(argc, argv, 2);
    while (time(0) < end);
    return 0;
  }
  if (!strcmp(argv[1], "turns"))
    return turns(number(argc, argv, 2), number(argc, argv, 3), number(argc, argv, 4));
  if (!strcmp(argv[1], "share")) return share(argc, argv);
  if (!strcmp(argv[1], "walk")) return walk(number(argc, argv, 2), number(argc, argv, 3));
  if (!strcmp(argv[1], "child") || !strcmp(argv[1], "worker")) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      eat(number(argc, argv, 2));
      _exit(0);
    }
    waitpid(child, &status, 0);
    return !strcmp(argv[1], "worker") && status != 0;
  }
  return 2;
}
"""


def load_eater(layout: Layout) -> str:
    """Load the image into a node; return its name."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-eater-") as scratch:
        compile_static(_SOURCE, Path(scratch) / "root" / "task")
        archive = Path(scratch) / "eater.tar"
        write_image(Path(scratch) / "root", IMAGE, ["/task"], archive)
        load_image(layout, archive)
    return IMAGE


def goes_on(uid: str) -> bool:
    """End the pause of a pod's programs, or the next one if they are in none; whether one ended.

    Only on the machine that the node runs on.
    """
    found = False
    for each in Path("/proc").glob("[0-9]*"):
        try:
            is_it = uid in (each / "cgroup").read_text()
            if is_it and (each / "cmdline").read_bytes().startswith(b"/task") and _listens(each):
                os.kill(int(each.name), signal.SIGUSR1)
                found = True
        except OSError:
            continue  # the process has ended meanwhile
    return found


def _listens(process: Path) -> bool:
    """Whether the program has come so far that it will see the signal."""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", (process / "status").read_text(), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) & 1 << (signal.SIGUSR1 - 1))


def an_eating_pod(name: str, *, eats_mib: int, limit_mib: int, for_s: int = 0) -> dict[str, Any]:
    """A bare pod that is tried once."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": a_spec(["eat", str(eats_mib), str(for_s)], f"{limit_mib}Mi"),
    }


def a_spec(words: list[str], memory: str | None) -> dict[str, Any]:
    """A pod's spec that runs ``/task`` with ``words`` once.

    memory: request and limit; None asks for nothing.
    """
    container: dict[str, Any] = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/task", *words],
    }
    if memory is not None:
        container["resources"] = {"requests": {"memory": memory}, "limits": {"memory": memory}}
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "containers": [container],
    }
