"""Certificates that change while the server runs."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization

from plimsoll_operator.admission.certificates import Certificate, CertificateError
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.processes.admission import Running
from tests.builders.pods import a_pod
from tests.rigs.servers.admission_servers import Pair, a_server, knowledge_of, until_true

POD = a_pod().asking("4Gi")


def shown(port: int) -> bytes:
    """The certificate that a new connection is shown, as text."""
    return ssl.get_server_certificate(("127.0.0.1", port)).encode()


async def shown_later(port: int) -> bytes:
    import asyncio

    return await asyncio.to_thread(shown, port)


def errors(server: Running) -> float:
    name = "plimsoll_admission_certificate_errors_total"
    return server.metrics.registry.get_sample_value(name) or 0.0


@pytest.mark.slow
async def test_a_new_pair_is_shown_to_new_connections_and_old_ones_go_on(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        before = await shown_later(server.port)
        assert before == (tmp_path / "tls.crt").read_bytes()
        await caller.review(POD)
        new = Pair.make(tmp_path, "renewed")
        while await shown_later(server.port) == before:
            pass
        assert await shown_later(server.port) == new.certificate_file.read_bytes()
        # This session's connection was made under the old one, which it alone trusts.
        assert (await caller.review(POD))["allowed"] is True
        async with (
            aiohttp.ClientSession() as session,
            session.post(caller.url, data=b"", ssl=new.trusted()) as response,
        ):
            assert response.status == 200
        assert errors(server) == 0


@pytest.mark.slow
async def test_half_an_update_keeps_the_old_pair_and_is_counted(tmp_path: Path) -> None:
    new = Pair.make(tmp_path / "new")
    async with a_server(tmp_path, knowledge_of()) as (_, server, _):
        before = await shown_later(server.port)
        (tmp_path / "tls.crt").write_bytes(new.certificate_file.read_bytes())
        await until_true(lambda: errors(server) == 1)
        assert await shown_later(server.port) == before
        (tmp_path / "tls.key").write_bytes(new.key_file.read_bytes())
        while await shown_later(server.port) == before:
            pass
        assert await shown_later(server.port) == new.certificate_file.read_bytes()


def a_secret(folder: Path, version: str) -> None:
    """Mounts a pair as the kubelet does: ..data is a link that is swapped."""
    Pair.make(folder / version, version)
    link = folder / "..data_tmp"
    link.symlink_to(version)
    link.replace(folder / "..data")


@pytest.fixture
def mounted(tmp_path: Path) -> Certificate:
    a_secret(tmp_path, "..1")
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    return Certificate(tmp_path / "tls.crt", tmp_path / "tls.key", AdmissionMetrics())


def test_a_mounted_secret_that_is_swapped_is_noticed(mounted: Certificate, tmp_path: Path) -> None:
    assert not mounted.reload_if_changed()
    a_secret(tmp_path, "..2")
    assert mounted.reload_if_changed()
    assert not mounted.reload_if_changed()


def errors_of(mounted: Certificate) -> float | None:
    registry = mounted.metrics.registry
    return registry.get_sample_value("plimsoll_admission_certificate_errors_total")


@pytest.mark.parametrize("text", [b"", b"-----BEGIN CERTIFICATE-----\n", b"\0\0"])
def test_files_that_are_no_pair_keep_the_old_one(
    mounted: Certificate, tmp_path: Path, text: bytes
) -> None:
    (tmp_path / "..data" / "tls.crt").write_bytes(text)
    assert not mounted.reload_if_changed()
    assert errors_of(mounted) == 1


def test_a_key_with_a_passphrase_keeps_the_old_pair_and_asks_nobody_for_it(
    mounted: Certificate, tmp_path: Path
) -> None:
    a_secret(tmp_path, "..2")
    file = tmp_path / "..2" / "tls.key"
    key = serialization.load_pem_private_key(file.read_bytes(), None)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"passphrase"),
        )
    )
    assert not mounted.reload_if_changed()
    assert errors_of(mounted) == 1


def test_files_that_went_away_keep_the_old_pair(mounted: Certificate, tmp_path: Path) -> None:
    (tmp_path / "..data").unlink()
    assert not mounted.reload_if_changed()
    a_secret(tmp_path, "..3")
    assert mounted.reload_if_changed()


def test_without_a_certificate_there_is_no_start_but_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=r"cannot read .*tls\.crt"):
        Certificate(tmp_path / "tls.crt", tmp_path / "tls.key", AdmissionMetrics())
    pair, other = Pair.make(tmp_path / "a"), Pair.make(tmp_path / "b")
    with pytest.raises(CertificateError, match="belong together"):
        Certificate(pair.certificate_file, other.key_file, AdmissionMetrics())
