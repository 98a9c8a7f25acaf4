"""What admission shows of its certificate and its decisions."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from plimsoll_operator.admission.certificate_expiry import expires_of, expires_s
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_predictor.core.decision import Decision, Reason
from tests.rigs.servers.admission_servers import Pair, a_server, knowledge_of

KEY = ec.generate_private_key(ec.SECP256R1())


def a_certificate(until: datetime.datetime, name: str = "localhost") -> str:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(1950, 1, 1, tzinfo=datetime.UTC))
        .not_valid_after(until)
        .sign(KEY, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.slow
@given(
    until=st.datetimes(datetime.datetime(1951, 1, 1), datetime.datetime(2299, 1, 1)),
    name=st.sampled_from(["a", "a" * 64]),
)
def test_the_end_of_any_certificate_is_read(until: datetime.datetime, name: str) -> None:
    until = until.replace(microsecond=0, tzinfo=datetime.UTC)
    assert expires_s(a_certificate(until, name)) == until.timestamp()


def test_the_first_of_a_chain_counts_whatever_is_written_before_it() -> None:
    first = datetime.datetime(2031, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
    second = datetime.datetime(2049, 1, 1, tzinfo=datetime.UTC)
    chain = f"subject=CN = x\n{a_certificate(first)}{a_certificate(second)}"
    assert expires_s(chain) == first.timestamp()


@pytest.mark.slow
@given(at=st.integers(0, 400), to=st.integers(0, 255))
def test_a_damaged_certificate_is_read_or_refused(at: int, to: int) -> None:
    until = datetime.datetime(2031, 1, 1, tzinfo=datetime.UTC)
    body = bytearray(a_certificate(until).encode())
    body[at % len(body)] = to
    try:
        found = expires_s(body.decode("ascii", "replace"))
    except (ValueError, IndexError):
        return
    assert math.isfinite(found)


@pytest.mark.parametrize("text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAA\n"])
def test_what_is_no_certificate_shows_no_end(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tls.crt"
    file.write_text(text)
    assert math.isnan(expires_of(file))
    assert math.isnan(expires_of(tmp_path / "absent"))


async def test_the_end_of_the_certificate_in_use_is_shown_and_moves_with_it(
    tmp_path: Path,
) -> None:
    async with a_server(tmp_path, knowledge_of()) as (_, server, _):
        registry = server.metrics.registry
        shown = "plimsoll_admission_certificate_expires_timestamp_seconds"
        file = tmp_path / "tls.crt"
        before = expires_of(file)
        assert generate_latest(registry).count(b"certificate_expires") == 3
        assert registry.get_sample_value(shown) == before
        Pair.make(tmp_path)
        assert expires_of(file) >= before


def counted(metrics: AdmissionMetrics, outcome: str, reason: str) -> float | None:
    labels = {"outcome": outcome, "reason": reason}
    return metrics.registry.get_sample_value("plimsoll_admission_pods_total", labels)


def test_pods_are_counted_by_outcome_and_reason() -> None:
    metrics = AdmissionMetrics()
    decision = Decision(allocation_bytes=1, reason=Reason.PREDICTED, why="")
    for _ in range(2):
        metrics.answered(Sized(Treatment.ENFORCED, [], decision=decision, ignored_features=3))
    metrics.answered(Sized(Treatment.NOT_OURS, []))
    assert counted(metrics, "enforced", "predicted") == 2
    assert counted(metrics, "not-ours", "") == 1
    assert metrics.registry.get_sample_value("plimsoll_admission_ignored_features_total") == 6


def test_every_reason_to_fail_open_is_there_before_it_happens() -> None:
    metrics = AdmissionMetrics()
    for reason in ("stale", "error", "malformed", "no-knowledge"):
        labels = {"reason": reason}
        assert (
            metrics.registry.get_sample_value("plimsoll_admission_failed_open_total", labels) == 0
        )
