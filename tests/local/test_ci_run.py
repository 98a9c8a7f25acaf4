"""`.ci/run` on a machine that has built here before sees the same as on a fresh machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from deploy.local.layout import CHECKOUT

pytestmark = pytest.mark.node

INDEX, PROXY = "https://packages.example/simple", "https://modules.example"
MAKE = """#!/bin/sh
find "$HOME" -mindepth 1 | sed "s|$HOME|HOME|"
readlink "$XDG_CACHE_HOME/plimsoll"
go env GOPROXY
python3 -m venv --without-pip "$FOLDER/venv"
python3 -m pip --python "$FOLDER/venv/bin/python" config list | grep index-url
printf '%s\\n' "$HOME" "$(go env GOMODCACHE)" "$(go env GOCACHE)" "$PIP_CACHE_DIR" > "$FOLDER/empty"
exit "$MAKE_ENDS_WITH"
"""


def run(folder: Path, ends_with: int) -> subprocess.CompletedProcess[str]:
    """Run it with a `make` that looks around, for a user with settings in HOME."""
    home = folder / "home"
    for name, text in (
        ("home/.config/pip/pip.conf", f"[global]\nindex-url = {INDEX}\n"),
        ("home/.config/go/env", f"GOPROXY={PROXY}\nGOMODCACHE={home}/modules\n"),
        ("home/.cache/pip/wheel", "downloaded before"),
        ("home/.cache/plimsoll/kubelet", "built before"),
        ("programs/make", MAKE),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "programs" / "make").chmod(0o755)
    foreign = ("GO", "PIP_", "XDG_")
    ours = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    settings = {
        "HOME": str(home),
        "PATH": f"{folder}/programs:{os.environ['PATH']}",
        "PLIMSOLL_CLUSTER_HOME": str(folder / "cluster"),
        "FOLDER": str(folder),
        "MAKE_ENDS_WITH": str(ends_with),
    }
    return subprocess.run(
        [CHECKOUT / ".ci" / "run"], env={**ours, **settings}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("status", [0, 1])
def test_home_and_caches_are_empty_and_settings_of_packages_are_there(
    tmp_path: Path, status: int
) -> None:
    done = run(tmp_path, status)
    assert done.returncode == status, done.stderr
    built = f"{tmp_path}/home/.cache/plimsoll"
    # Before these lines apt-get prints, if something is not installed.
    *seen, link, proxy, index = done.stdout.splitlines()[-5:]
    assert sorted(seen) == ["HOME/.cache", "HOME/.cache/plimsoll"]
    assert (link, proxy, index) == (built, PROXY, f"global.index-url={INDEX!r}")
    assert f"what was built here before is in {built}: " in done.stderr
    for folder in (tmp_path / "empty").read_text().splitlines():
        assert "/plimsoll-ci-" in folder
        assert not Path(folder).exists(), "it is removed"
