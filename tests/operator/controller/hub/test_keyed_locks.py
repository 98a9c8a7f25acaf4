"""Work on one key takes turns, and a key that nobody works on costs nothing."""

from __future__ import annotations

import asyncio

from plimsoll_operator.controller.hub.habits import KeyedLocks


async def test_works_on_one_key_take_turns_and_those_on_others_do_not_wait() -> None:
    locks, order = KeyedLocks[str](), list[str]()
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def work(key: str, name: str) -> None:
        async with locks.of(key):
            order.append(f"{name} begins")
            if name == "first":
                begun.set()
                await may_end.wait()
            order.append(f"{name} ends")

    first = asyncio.create_task(work("a", "first"))
    await begun.wait()
    second = asyncio.create_task(work("a", "second"))
    await work("b", "other")
    may_end.set()
    await asyncio.gather(first, second)
    assert order == [
        "first begins",
        "other begins",
        "other ends",
        "first ends",
        "second begins",
        "second ends",
    ]


async def test_a_lock_that_nobody_holds_is_gone() -> None:
    locks = KeyedLocks[str]()
    async with locks.of("a"):
        assert len(locks) == 1
    assert len(locks) == 0
