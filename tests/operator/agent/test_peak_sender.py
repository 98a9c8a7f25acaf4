"""Sending over real HTTP and HTTPS on loopback: what is kept, and what is given up."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from plimsoll_operator.agent.outbox import Outbox
from plimsoll_operator.agent.peak_sender import Answer, Controller, Reply, Sender, deliver
from plimsoll_operator.agent.settings import AgentSettings, SettingsError
from plimsoll_operator.attempts.peaks import PEAKS_PATH, Answered, PeakReport
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import a_report, until


def an_outbox(*uids: str) -> Outbox:
    outbox = Outbox(MIB, 3600.0, time.monotonic)
    outbox.offer([a_report(pod_uid=uid, final=True) for uid in uids])
    return outbox


def uids(outbox: Outbox) -> list[str]:
    return [report.pod_uid for report in outbox.batch(100)]


class RecordingPost:
    """Answers by rule, and remembers what it accepted."""

    def __init__(self, rule: Callable[[Sequence[PeakReport]], Answer]) -> None:
        self.rule = rule
        self.calls = 0
        self.taken: list[str] = []

    def __call__(self, reports: Sequence[PeakReport]) -> Reply:
        self.calls += 1
        answer = self.rule(reports)
        if answer is Answer.TAKEN:
            self.taken += [report.pod_uid for report in reports]
        return Reply(answer, "by rule")


def test_what_is_taken_is_done_with() -> None:
    outbox, post = an_outbox("a", "b"), RecordingPost(lambda _: Answer.TAKEN)
    assert deliver(outbox, outbox.batch(100), post)
    assert (post.taken, uids(outbox)) == (["a", "b"], [])


def test_what_does_not_arrive_is_kept() -> None:
    outbox, post = an_outbox("a", "b"), RecordingPost(lambda _: Answer.UNREACHED)
    assert not deliver(outbox, outbox.batch(100), post)
    assert uids(outbox) == ["a", "b"]


def test_one_bad_report_is_given_up_and_costs_no_other() -> None:
    names = [f"pod-{n}" for n in range(50)]
    outbox = an_outbox(*names)
    post = RecordingPost(
        lambda batch: (
            Answer.REFUSED if any(report.pod_uid == "pod-17" for report in batch) else Answer.TAKEN
        )
    )
    assert deliver(outbox, outbox.batch(100), post)
    assert sorted(post.taken) == sorted(set(names) - {"pod-17"})
    assert uids(outbox) == []
    assert outbox.dropped == 1
    assert post.calls <= 15  # halved, not one by one


@pytest.mark.slow
def test_a_sender_keeps_trying_until_the_controller_is_back() -> None:
    answers = iter([Answer.UNREACHED, Answer.UNREACHED])
    post = RecordingPost(lambda _: next(answers, Answer.TAKEN))
    outbox = an_outbox("a")
    sender = Sender(outbox, post, seed=1)
    sender.start()
    sender.wake()
    until(lambda: post.taken == ["a"])
    sender.stop(60.0)
    assert post.calls == 3


def test_a_sender_that_stops_sends_what_is_left() -> None:
    post = RecordingPost(lambda _: Answer.TAKEN)
    sender = Sender(an_outbox("a"), post, seed=1)
    sender.start()
    sender.stop(60.0)
    assert post.taken == ["a"]


def test_an_agent_with_nothing_to_report_says_that_it_lives() -> None:
    post = RecordingPost(lambda _: Answer.TAKEN)
    sender = Sender(an_outbox(), post, seed=1)
    sender.start()
    sender.beat()
    until(lambda: post.calls == 1)
    sender.stop(60.0)
    assert (post.calls, post.taken) == (1, [])


@pytest.mark.slow
def test_an_error_that_nobody_foresaw_does_not_end_the_sender() -> None:
    """A URL's host that is no name raises UnicodeError, which is no OSError."""
    answers = iter([UnicodeError("label empty or too long")])

    def rule(reports: Sequence[PeakReport]) -> Answer:
        for error in answers:
            raise error
        return Answer.TAKEN

    post, outbox = RecordingPost(rule), an_outbox("a")
    sender = Sender(outbox, post, seed=1)
    sender.start()
    sender.wake()
    until(lambda: post.taken == ["a"])
    sender.beat()
    until(lambda: post.calls == 3)
    sender.stop(60.0)
    assert len(outbox) == 0


def test_a_report_says_it_as_well() -> None:
    post = RecordingPost(lambda _: Answer.TAKEN)
    sender = Sender(an_outbox("a"), post, seed=1)
    sender.beat()
    sender.start()
    sender.stop(60.0)
    assert (post.calls, post.taken) == (1, ["a"])


class Site:
    """A real HTTP server on loopback that answers with ``status``."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.status = 204
        self.words = b"why"
        self.requests: list[tuple[str, str, dict[str, object]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                token = self.headers["Authorization"]
                site.requests.append((self.path, token, json.loads(body)))
                self.send_response(site.status)
                words = b"" if site.status == 204 else site.words
                self.send_header("Content-Length", str(len(words)))
                self.end_headers()
                self.wfile.write(words)
                self.close_connection = site.status == 500

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


def a_controller(site_port: int, folder: Path, ca_file: Path | None = None) -> Controller:
    (folder / "token").write_text("secret\n")
    scheme = "http" if ca_file is None else "https"
    return Controller(
        AgentSettings(
            controller_url=f"{scheme}://127.0.0.1:{site_port}",
            node_name="n1",
            token_file=folder / "token",
            state_dir=folder,
            ca_file=ca_file,
        )
    )


def test_reports_go_over_the_wire_with_node_and_token(site: Site, tmp_path: Path) -> None:
    controller = a_controller(site.port, tmp_path)
    assert controller.post([a_report()]).answer is Answer.TAKEN
    (tmp_path / "token").write_text("rotated")
    assert controller.post([]).answer is Answer.TAKEN
    controller.close()

    assert site.requests == [
        (PEAKS_PATH, "Bearer secret", {"node": "n1", "reports": [to_document(a_report())]}),
        (PEAKS_PATH, "Bearer rotated", {"node": "n1", "reports": []}),
    ]


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        pytest.param(400, Answer.REFUSED, id="a mistake in the reports"),
        pytest.param(413, Answer.REFUSED, id="too many at once"),
        pytest.param(401, Answer.UNREACHED, id="a token that is being rotated"),
        pytest.param(404, Answer.UNREACHED, id="another server at that address"),
        pytest.param(503, Answer.UNREACHED, id="a store in trouble"),
        pytest.param(301, Answer.UNREACHED, id="a redirect"),
    ],
)
def test_answers_are_told_apart(site: Site, tmp_path: Path, status: int, answer: Answer) -> None:
    site.status = status
    controller = a_controller(site.port, tmp_path)
    assert controller.post([a_report()]) == Reply(answer, f"HTTP {status}: why")
    controller.close()


@pytest.mark.parametrize(
    ("words", "known"),
    [
        pytest.param(b'{"controller":"a","known_bytes":{"one":7}}', {"one": 7}, id="an answer"),
        pytest.param(b'{"controller":"a","more":1}', {}, id="one of a newer controller"),
        pytest.param(b'{"controller":"a","known_bytes":{"one":-7}}', {}, id="one that is wrong"),
        pytest.param(b"[" * 50_000, {}, id="one that is no answer"),
    ],
)
def test_what_the_controller_knows_is_read_from_its_answer(
    site: Site, tmp_path: Path, words: bytes, known: dict[str, int]
) -> None:
    site.status, site.words = 200, words
    controller = a_controller(site.port, tmp_path)
    reply = controller.post([a_report()])
    controller.close()
    assert (reply.answer, reply.answered.known_bytes) == (Answer.TAKEN, known)


def test_an_older_controller_answers_nothing(site: Site, tmp_path: Path) -> None:
    controller = a_controller(site.port, tmp_path)
    assert controller.post([a_report()]) == Reply(Answer.TAKEN, "", Answered())
    controller.close()


def test_a_connection_that_was_closed_meanwhile_is_made_again(site: Site, tmp_path: Path) -> None:
    controller = a_controller(site.port, tmp_path)
    site.status = 500  # and the connection is closed after it
    assert controller.post([a_report()]).answer is Answer.UNREACHED
    site.status = 204
    assert controller.post([a_report()]).answer is Answer.TAKEN
    controller.close()


def test_https_trusts_the_named_authority_and_no_other(tmp_path: Path) -> None:
    certificate, key = a_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secure = Site(context)
    try:
        trusting = a_controller(secure.port, tmp_path, certificate)
        assert trusting.post([a_report()]).answer is Answer.TAKEN
        trusting.close()
        other = tmp_path / "other"
        other.mkdir()
        doubting = a_controller(secure.port, tmp_path, a_certificate(other)[0])
        reply = doubting.post([a_report()])
        doubting.close()
    finally:
        secure.close()
    assert reply.answer is Answer.UNREACHED
    assert "CERTIFICATE_VERIFY_FAILED" in reply.why


def a_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "plimsoll-test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder / "cert.pem", folder / "key.pem"


def test_nobody_there_and_no_token_are_answers_not_exceptions(tmp_path: Path) -> None:
    gone = Site()
    port = gone.port
    gone.close()
    controller = a_controller(port, tmp_path)
    assert controller.post([a_report()]).answer is Answer.UNREACHED
    (tmp_path / "token").unlink()
    reply = controller.post([a_report()])
    assert reply.answer is Answer.UNREACHED
    assert "token" in reply.why
    for broken in (b"", b"\xff\xfe", b"two\nlines"):
        (tmp_path / "token").write_bytes(broken)
        reply = controller.post([a_report()])
        assert reply.answer is Answer.UNREACHED
        assert "holds no token" in reply.why


def test_settings_that_make_no_sense_are_refused_in_words(tmp_path: Path) -> None:
    def settings(**changed: object) -> AgentSettings:
        plain: dict[str, object] = {
            "controller_url": "http://127.0.0.1:1",
            "token_file": tmp_path,
            "node_name": "n1",
            "state_dir": tmp_path,
        }
        return AgentSettings(**(plain | changed))  # type: ignore[arg-type]

    assert settings().interval_s == pytest.approx(1.0)
    with pytest.raises(SettingsError, match="has no scheme"):
        settings(controller_url="plimsoll:8443")
    with pytest.raises(SettingsError, match=r"https://plimsoll:99999.*Port out of range"):
        settings(controller_url="https://plimsoll:99999")
    for host in ("plimsoll-controller..svc", "p" * 64):
        with pytest.raises(SettingsError, match=rf"controller URL .*{host}.*label"):
            settings(controller_url=f"http://{host}:8081")
    for host in ("plimsoll-controller.plimsoll.svc.", "my_host", "10.0.0.1", "fd00::1"):
        assert settings(controller_url=f"http://{host}:8081").controller_url.endswith(":8081")
    for interval_s in (0.0, 2.5):
        with pytest.raises(SettingsError, match=r"use 0\.25 to 2 s"):
            settings(interval_s=interval_s)
    with pytest.raises(SettingsError, match="70000 is no port"):
        settings(metrics_listen_port=70_000)
    with pytest.raises(SettingsError, match="--node-name"):
        settings(node_name="")
