"""Admission's certificate over its life: each step, each crash between two, each bad clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from plimsoll_operator.credentials.certificate_reading import (
    Served,
    Unusable,
    read_authorities,
    read_served,
)
from plimsoll_operator.credentials.certificate_steps import (
    KEPT,
    SETTLE_S,
    Clocks,
    NextStep,
    Prepared,
    State,
    Step,
    decide,
)
from plimsoll_operator.credentials.issuing import Pair, issue

NAMES = ("plimsoll-admission.plimsoll.svc", "10.0.0.7")
LIFETIME_S = 90 * 86_400.0
START_S = 1_800_000_000.0
DAY_S = 86_400.0
CURVE = ec.SECP256R1()


def a_pair(now_s: float = START_S, lifetime_s: float = LIFETIME_S) -> Pair:
    return issue(NAMES, datetime.fromtimestamp(now_s, UTC), timedelta(seconds=lifetime_s))


@dataclass(slots=True)
class World:
    """The state of the cluster, and a leader's memory: steps are carried out on it.

    shown: the authority of the replicas' certificate; they read the Secret some time after its
        change.
    """

    now_s: float = START_S
    monotonic_s: float = 0.0
    secret: dict[str, bytes] | None = None
    published: tuple[bytes, ...] | None = ()
    prepared: Prepared | None = None
    shown: bytes | None = None
    steps: list[NextStep] = field(default_factory=list)

    def state(self) -> State:
        served, broken = None, None
        if self.secret is not None:
            try:
                served = read_served(self.secret, NAMES)
            except Unusable as error:
                broken = str(error)
        return State(served, broken, self.published, self.prepared)

    def step(self) -> NextStep:
        """One step of the leader."""
        decision = decide(self.state(), Clocks(self.now_s, self.monotonic_s), LIFETIME_S)
        self.steps.append(decision)
        if decision.step is Step.PREPARE:
            self.prepared = Prepared(a_pair(self.now_s))
        elif decision.step is Step.DISCARD:
            self.prepared = None
        elif decision.step is Step.PUBLISH:
            self.published = decision.trusted
            if self.prepared:
                self.prepared = replace(self.prepared, published_s=self.monotonic_s)
        elif decision.step is Step.SERVE:
            assert self.prepared is not None
            pair = self.prepared.pair
            self.secret = {
                "tls.crt": pair.certificate,
                "tls.key": pair.key,
                "ca.crt": b"".join(decision.trusted),
            }
            self.prepared = None
        self.check()
        return decision

    def check(self) -> None:
        """Check that the replicas' certificate, and the one in the Secret, are trusted."""
        trusted = self.published
        if trusted is None:
            return
        assert len(trusted) <= KEPT + 1
        assert self.shown is None or self.shown in trusted
        state = self.state()
        if self.shown is not None and state.served is not None:
            assert state.served.authorities[0] in trusted

    def look(self) -> list[Step]:
        """Take steps until there is nothing to do now."""
        done: list[Step] = []
        while (step := self.step().step) not in (Step.REST, Step.WAIT):
            done.append(step)
            assert len(done) < 7
        return done

    def mounted(self) -> None:
        """Let replicas read the Secret."""
        served = self.state().served
        assert served is not None
        self.shown = served.authorities[0]

    def passes(self, seconds: float) -> None:
        self.now_s += seconds
        self.monotonic_s += seconds

    def crashes(self) -> None:
        """Let another leader take over: it remembers nothing, and its clock began elsewhere."""
        self.prepared = None
        self.monotonic_s = 7.0


def settled() -> World:
    """Installed a while ago."""
    world = World()
    assert world.look() == [Step.PREPARE, Step.SERVE, Step.PUBLISH]
    world.mounted()
    assert world.look() == []
    return world


def test_the_first_certificate_is_in_its_secret_before_anything_could_trust_it() -> None:
    world = settled()
    served = world.state().served
    assert served is not None
    assert world.published == served.authorities


def test_without_a_webhook_configuration_there_is_a_certificate_all_the_same() -> None:
    world = World(published=None)
    assert world.look() == [Step.PREPARE, Step.SERVE]
    world.published = ()
    assert world.look() == [Step.PUBLISH]


def test_nothing_is_done_for_two_thirds_of_its_lifetime() -> None:
    world = settled()
    before = world.secret
    world.passes(LIFETIME_S * 2 / 3 - 1)
    assert world.look() == []
    assert world.secret == before


def test_a_renewal_is_trusted_before_it_is_served_and_the_old_one_still_is_after() -> None:
    world = settled()
    old = world.shown
    world.passes(LIFETIME_S * 2 / 3 + 1)
    assert world.look() == [Step.PREPARE, Step.PUBLISH]
    assert world.published is not None
    assert world.published[1] == old
    world.passes(SETTLE_S - 1)
    assert world.look() == []
    world.passes(1)
    assert world.look() == [Step.SERVE]
    assert world.published[1] == old  # replicas show it until they have read the new one
    world.mounted()
    assert world.look() == []


def test_authorities_do_not_pile_up_over_many_renewals() -> None:
    world = settled()
    for _ in range(5):
        world.passes(LIFETIME_S * 2 / 3 + 1)
        world.look()
        world.passes(SETTLE_S)
        world.look()
        world.mounted()
    assert world.published is not None
    assert len(world.published) == KEPT


@pytest.mark.parametrize("steps", range(7), ids="after {} steps".format)
def test_a_crash_after_any_step_leaves_all_that_is_shown_trusted_and_is_recovered(
    steps: int,
) -> None:
    world = settled()
    world.passes(LIFETIME_S * 2 / 3 + 1)
    for _ in range(steps):
        if world.step().step is Step.WAIT:
            world.passes(SETTLE_S)
    world.crashes()
    world.check()
    before = world.state().served
    world.look()
    world.passes(SETTLE_S)
    world.look()
    world.mounted()
    assert world.look() == []
    after = world.state().served
    assert before is not None
    assert after is not None
    assert after.not_after_s - world.now_s > LIFETIME_S / 2


def test_an_expired_certificate_is_replaced() -> None:
    world = settled()
    world.passes(LIFETIME_S + DAY_S)
    assert world.look() == [Step.PREPARE, Step.PUBLISH]
    assert world.steps[-3].why == "it has expired"
    world.passes(SETTLE_S)
    assert world.look() == [Step.SERVE]


def test_a_secret_that_was_deleted_is_made_again_and_trusted_before_it_is_shown() -> None:
    world = settled()
    old = world.shown
    world.secret = None
    assert world.look() == [Step.PREPARE, Step.PUBLISH]
    assert world.published is not None
    assert old in world.published
    assert world.secret is None
    world.passes(SETTLE_S)
    assert world.look() == [Step.SERVE]
    assert old in world.published  # replicas show it until they have read the new one
    world.mounted()
    assert world.look() == []


def test_a_clock_that_jumped_ahead_and_back_costs_two_renewals_and_no_trust() -> None:
    world = settled()
    world.now_s += 10 * LIFETIME_S
    world.look()
    world.passes(SETTLE_S)
    assert world.look() == [Step.SERVE]
    world.mounted()
    world.now_s -= 10 * LIFETIME_S
    assert world.look() == [Step.PREPARE, Step.PUBLISH]
    assert "not valid yet" in world.steps[-3].why
    world.passes(SETTLE_S)
    assert world.look() == [Step.SERVE]


def test_a_clock_that_runs_a_little_behind_renews_nothing() -> None:
    world = settled()
    world.now_s -= 240.0
    assert world.look() == []


def test_a_blanked_bundle_is_filled_again_from_the_secret() -> None:
    world = settled()
    before, world.published, world.shown = world.published, (), None
    assert world.look() == [Step.PUBLISH]
    assert world.published == before


def test_a_foreign_authority_in_the_bundle_is_taken_out() -> None:
    world = settled()
    assert world.published is not None
    world.published = (*world.published, a_pair().authority)
    assert world.look() == [Step.PUBLISH]
    assert len(world.published) == 1


def test_a_certificate_mended_by_another_hand_is_left_and_the_prepared_one_dropped() -> None:
    world = settled()
    good = world.secret
    world.secret = {}
    assert world.step().step is Step.PREPARE
    world.secret = good
    assert world.step().step is Step.DISCARD
    assert world.look() == []


GOOD = a_pair()
OTHER = a_pair()


def a_secret(**entries: bytes) -> dict[str, bytes]:
    good = {"tls.crt": GOOD.certificate, "tls.key": GOOD.key, "ca.crt": GOOD.authority}
    return {**good, **{name.replace("_", "."): value for name, value in entries.items()}}


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        pytest.param({}, "it has no tls.crt", id="empty"),
        pytest.param(a_secret(tls_key=b""), "it has no tls.key", id="half-written"),
        pytest.param(a_secret(tls_crt=b"x" * 70_000), "larger than", id="huge"),
        pytest.param(a_secret(tls_crt=GOOD.certificate[:200]), "no certificate", id="cut off"),
        pytest.param(a_secret(tls_crt=b"\0\xff"), "no certificate", id="binary"),
        pytest.param(a_secret(tls_key=b"no key"), "its tls.key is no key", id="no key"),
        pytest.param(a_secret(tls_key=OTHER.key), "does not belong", id="another's key"),
        pytest.param(a_secret(ca_crt=OTHER.authority), "did not sign", id="another's authority"),
        pytest.param(a_secret(ca_crt=b"nothing"), "did not sign", id="no authority"),
    ],
)
def test_a_secret_that_cannot_be_served_is_said_to_be_and_mended(
    secret: dict[str, bytes], words: str
) -> None:
    with pytest.raises(Unusable, match=words):
        read_served(secret, NAMES)
    world = settled()
    old = world.shown
    world.secret = secret
    assert world.look() == [Step.PREPARE, Step.PUBLISH]
    # Replicas still show what they read before it broke.
    assert world.published is not None
    assert old in world.published
    world.passes(SETTLE_S)
    assert world.look() == [Step.SERVE]
    world.mounted()


def test_a_certificate_that_names_twice_who_it_is_for_is_not_ours() -> None:
    good, key = x509.load_pem_x509_certificate(GOOD.certificate), ec.generate_private_key(CURVE)
    builder = (
        x509.CertificateBuilder(extensions=[*good.extensions, good.extensions[0]])
        .subject_name(good.subject)
        .issuer_name(good.issuer)
        .serial_number(good.serial_number)
        .not_valid_before(good.not_valid_before_utc)
        .not_valid_after(good.not_valid_after_utc)
        .public_key(key.public_key())
    )
    twice = builder.sign(key, hashes.SHA256())
    with pytest.raises(x509.DuplicateExtension):
        _ = twice.extensions
    secret = a_secret(
        tls_crt=twice.public_bytes(serialization.Encoding.PEM),
        tls_key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
    with pytest.raises(Unusable, match="its certificate is not for"):
        read_served(secret, NAMES)


def test_a_certificate_for_other_names_is_not_ours() -> None:
    with pytest.raises(Unusable, match=r"not for other\.svc"):
        read_served(a_secret(), (*NAMES, "other.svc"))


def test_a_good_secret_is_understood() -> None:
    served = read_served(a_secret(ca_crt=GOOD.authority + OTHER.authority), NAMES)
    assert served == Served((GOOD.authority, OTHER.authority), START_S - 300, START_S + LIFETIME_S)


@pytest.mark.parametrize(
    "bundle", [b"", b"\0", b"-----BEGIN CERTIFICATE-----\nAA==\n", b"x" * 70_000]
)
def test_a_bundle_that_cannot_be_read_holds_nothing(bundle: bytes) -> None:
    assert read_authorities(bundle) == ()


def test_a_key_is_not_shown_where_a_pair_is_printed() -> None:
    assert "PRIVATE" not in repr(GOOD)
