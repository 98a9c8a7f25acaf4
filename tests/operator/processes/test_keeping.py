"""What the leader keeps right: what counts as trouble; one thing does not stop another."""

from __future__ import annotations

import pytest

from plimsoll_operator.credentials.keeping_all import Keeping
from plimsoll_operator.kube.errors import AlreadyThere, Changed, Refused


@pytest.mark.parametrize(
    ("error", "troubles"),
    [
        pytest.param(Changed("newer"), {}, id="another hand changed it first"),
        pytest.param(AlreadyThere("made"), {}, id="another hand made it first"),
        pytest.param(Refused("no role"), {"token": "no role"}, id="refused"),
        pytest.param(KeyError("data"), {"token": "KeyError: 'data'"}, id="an odd object"),
    ],
)
async def test_only_what_stays_wrong_is_trouble_and_the_others_are_looked_at(
    error: Exception, troubles: dict[str, str]
) -> None:
    looked = []

    async def fails() -> None:
        raise error

    async def works() -> None:
        looked.append("certificate")

    keeping = Keeping({"token": fails, "certificate": works}, lambda: looked.append("all"))
    await keeping.look()
    assert keeping.troubles == troubles
    assert looked == ["certificate", "all"]
