"""Workers that lease items and acknowledge them."""

from __future__ import annotations

from plimsoll_predictor.splitting.leases import Ack, Heard, Lease, Leases, NoLease, Sizing, Worker

ANY = Sizing(lambda left: left)


def a_worker(name: str = "a", index: int = 0, life: str = "1") -> Worker:
    return Worker(name, index, life, goes_on=True)


def leased(
    leases: Leases, worker: Worker, heard: Heard | None = None, most: int = 10**9, now_s: float = 0
) -> Lease:
    found = leases.next(worker, heard, now_s, Sizing(lambda _: most))
    assert isinstance(found, Lease)
    return found


def heard(lease: Lease) -> Heard:
    return Heard(lease.number, lease.end)


def does(leases: Leases, worker: Worker, lease: Lease) -> Ack:
    return leases.acknowledge(worker, heard(lease), lease.first + lease.items)


def whole(leases: Leases, worker: Worker) -> Lease:
    """Let a worker do all that it gets; return the last lease."""
    lease = leased(leases, worker)
    while True:
        assert does(leases, worker, lease) is Ack.DONE
        found = leases.next(worker, heard(lease), 0, ANY)
        if isinstance(found, NoLease):
            return lease
        lease = found
