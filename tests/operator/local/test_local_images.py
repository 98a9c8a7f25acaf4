"""What determines an image, and which parts of this machine go into its build."""

from __future__ import annotations

import configparser
import json
import tarfile
from pathlib import Path

import pytest
from deploy.local.images.archive import write_image
from deploy.local.images.dockerfile import TARGETS, Target, fingerprint
from deploy.local.images.pip_settings import pip_files, pip_settings
from deploy.local.layout import CHECKOUT
from deploy.local.trouble import Trouble

SMALL = Target("stage", "localhost/small", ("Dockerfile", "source"))


def a_checkout(root: Path) -> Path:
    (root / "source").mkdir(parents=True)
    (root / "Dockerfile").write_text("FROM scratch\n")
    (root / "source" / "a.py").write_text("a = 1\n")
    return root


def read(text: str) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    return dict(parser["global"])


def test_the_same_sources_have_the_same_fingerprint_wherever_they_are(tmp_path: Path) -> None:
    one, other = a_checkout(tmp_path / "one"), a_checkout(tmp_path / "other")
    (other / "unrelated").touch()
    (other / "source" / "__pycache__").mkdir()
    (other / "source" / "__pycache__" / "a.pyc").touch()
    assert fingerprint(SMALL, one) == fingerprint(SMALL, other)


@pytest.mark.parametrize("change", ["content", "name", "new file"])
def test_any_change_of_an_input_changes_the_fingerprint(tmp_path: Path, change: str) -> None:
    root = a_checkout(tmp_path)
    before = fingerprint(SMALL, root)
    source = root / "source" / "a.py"
    match change:
        case "content":
            source.write_text("a = 2\n")
        case "name":
            source.rename(root / "source" / "b.py")
        case _:
            (root / "source" / "c.py").touch()
    assert fingerprint(SMALL, root) != before


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    root = a_checkout(tmp_path)
    (root / "Dockerfile").unlink()
    with pytest.raises(Trouble, match="Dockerfile is missing"):
        fingerprint(SMALL, root)


def test_every_copied_path_of_the_dockerfile_is_an_input() -> None:
    copied = {
        word.removesuffix("/*.py")
        for line in (CHECKOUT / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY") and "--from" not in line
        for word in line.split()[1:-1]
    }
    copied = {"deploy/image" if name.startswith("deploy/image/") else name for name in copied}
    listed = {name for target in TARGETS.values() for name in target.inputs}
    assert copied <= listed
    assert listed - copied == {"Dockerfile", ".dockerignore"}


def test_an_own_index_goes_into_the_build_and_paths_of_the_machine_do_not() -> None:
    settings = read(
        pip_settings(
            {
                "PIP_INDEX_URL": "https://user:secret@pypi.example/simple",
                "PIP_DEFAULT_TIMEOUT": "99",
                "PIP_FIND_LINKS": "/opt/wheels",
                "PIP_CACHE_DIR": "/home/a/.cache",
                "PATH": "/bin",
            },
            [],
        )
    )
    assert settings["index-url"] == "https://user:secret@pypi.example/simple"
    assert settings["default-timeout"] == "99"
    assert not settings.keys() & {"find-links", "cache-dir", "path"}


def test_variables_go_before_files_and_later_files_before_earlier(tmp_path: Path) -> None:
    system, user = tmp_path / "system.conf", tmp_path / "user.conf"
    system.write_text("[global]\nindex-url = https://system.example\ntimeout = 1\nretries = 1\n")
    user.write_text("[global]\ntimeout = 2\nretries = 2\n[install]\nprefer-binary = true\n")
    settings = read(pip_settings({"PIP_RETRIES": "3"}, [system, user, tmp_path / "absent"]))
    assert (settings["index-url"], settings["timeout"]) == ("https://system.example", "2")
    assert (settings["retries"], settings["prefer-binary"]) == ("3", "true")


def test_an_own_certificate_is_read_from_where_the_build_sees_it(tmp_path: Path) -> None:
    bundle = tmp_path / "own.pem"
    bundle.touch()
    assert read(pip_settings({"PIP_CERT": str(bundle)}, []))["cert"] == "/run/secrets/ca"


def test_the_same_folder_makes_the_same_image(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "program").write_text("#!/bin/sh\n")
    for name in ("one.tar", "other.tar"):
        write_image(root, "localhost/one:1", ["/program"], tmp_path / name)
    indexes = []
    for name in ("one.tar", "other.tar"):
        with tarfile.open(tmp_path / name) as tar:
            member = tar.extractfile("index.json")
            assert member is not None
            indexes.append(json.load(member))
    assert indexes[0] == indexes[1]
    names = indexes[0]["manifests"][0]["annotations"]
    assert names["io.containerd.image.name"] == "localhost/one:1"


@pytest.mark.parametrize("entrypoint", [[], ["/entry.sh"]])
def test_an_image_has_an_entrypoint_only_if_it_is_given_one(
    tmp_path: Path, entrypoint: list[str]
) -> None:
    (tmp_path / "root").mkdir()
    image = tmp_path / "image.tar"
    write_image(tmp_path / "root", "localhost/one:1", ["/program"], image, entrypoint)
    with tarfile.open(image) as tar:
        blobs = [tar.extractfile(each) for each in tar.getmembers() if "blobs" in each.name]
        texts = [each.read() for each in blobs if each is not None]
    (started,) = (json.loads(text)["config"] for text in texts if b'"Cmd"' in text)
    assert started["Cmd"] == ["/program"]
    assert started.get("Entrypoint", []) == entrypoint


def test_a_settings_file_that_is_named_replaces_the_users_and_not_the_machines() -> None:
    named = Path("/etc/pip.conf"), Path("/elsewhere/pip.conf")
    assert pip_files({"HOME": "/home/a", "PIP_CONFIG_FILE": str(named[1])}) == [*named]
    user = Path("/home/a/.pip/pip.conf"), Path("/home/a/.config/pip/pip.conf")
    assert pip_files({"HOME": "/home/a"}) == [named[0], *user]
