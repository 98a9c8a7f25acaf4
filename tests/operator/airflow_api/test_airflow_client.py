"""Calls of Airflow's REST API; a small server answers as Airflow does, or wrongly."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.airflow_api import client as client_module
from plimsoll_operator.airflow_api.client import (
    TRIES_AT_FIRST,
    AirflowClient,
    AirflowError,
    AirflowServer,
    ConfigurationRefused,
)
from tests.rigs.servers.admission_servers import Pair
from tests.rigs.servers.airflows import PASSWORD, USER, SmallAirflow, served
from tests.rigs.servers.ports import free_port

CONF = {"rows": 1}

Asking = Callable[[AirflowClient], Awaitable[Any]]


async def ask(address: str, asking: Asking, **settings: Any) -> list[str]:
    """The words for Airflow's user while a call is made."""
    told: list[str] = []
    given = {"user": USER, "password": PASSWORD, "first_pause_s": 0.001, **settings}
    login = given.pop("login", None)
    server = replace(AirflowServer.at(address, **given), login=login)
    async with AirflowClient(server, told.append) as client:
        await asking(client)
    return told


async def refusal(airflow: SmallAirflow, asking: Asking, **settings: Any) -> str:
    with pytest.raises(AirflowError) as caught:
        await ask(airflow.address, asking, **settings)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def checking(dag: str = "nightly") -> Asking:
    return lambda client: client.check(dag)


async def triggering(client: AirflowClient) -> None:
    await client.check("nightly")
    assert await client.trigger("nightly", "one", CONF, "a note")
    assert not await client.trigger("nightly", "one", CONF, "a note")
    assert await client.state_of("nightly", "one") == "success"
    assert await client.state_of("nightly", "two") is None


async def test_a_run_is_triggered_once_and_its_state_is_read() -> None:
    with served(SmallAirflow()) as airflow:
        await ask(airflow.address, triggering)
    (run,) = airflow.runs.values()
    assert (run["conf"], run["logical_date"], run["note"]) == (CONF, None, "a note")
    assert airflow.asked["POST _token"] == 1


def with_runs(count: int, **settings: Any) -> SmallAirflow:
    """An Airflow that remembers runs of one campaign, and as many of another."""
    airflow = SmallAirflow(**settings)
    for number in range(count):
        for name, state in (("sizes", "success"), ("other", "failed")):
            run_id = f"plimsoll__{name}__{number}"
            airflow.runs[run_id] = {"dag_run_id": run_id, "state": state, "conf": CONF}
    return airflow


async def listed(airflow: SmallAirflow, most_calls: int) -> dict[str, str] | None:
    found: list[dict[str, str] | None] = []

    async def asking(client: AirflowClient) -> None:
        await client.check("nightly")
        found.append(await client.states_of("nightly", "plimsoll__sizes__", most_calls))

    await ask(airflow.address, asking)
    return found[0]


@pytest.mark.parametrize("page", [100, 7])
async def test_runs_are_listed_page_by_page_and_none_of_others(page: int) -> None:
    with served(with_runs(250, page=page)) as airflow:
        found = await listed(airflow, most_calls=1000)
    assert found == {f"plimsoll__sizes__{number}": "success" for number in range(250)}
    assert airflow.asked["GET _runs"] == -(-250 // page)
    assert airflow.asked["GET _run"] == 0


async def test_an_airflow_without_patterns_lists_all_if_that_is_cheap() -> None:
    with served(with_runs(30, page=10, knows_patterns=False)) as airflow:
        assert len(await listed(airflow, most_calls=6) or {}) == 30
        assert airflow.asked["GET _runs"] == 6
        assert await listed(airflow, most_calls=5) is None
        assert airflow.asked["GET _runs"] == 7


async def test_a_dag_without_runs_lists_none() -> None:
    with served(SmallAirflow()) as airflow:
        assert await listed(airflow, most_calls=1) == {}


async def test_pages_that_are_too_large_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_ANSWER_BYTES", 2000)
    with served(with_runs(250)) as airflow:
        assert await listed(airflow, most_calls=100) is None


async def test_the_address_may_be_that_of_the_api_itself() -> None:
    with served(SmallAirflow()) as airflow:
        await ask(f"{airflow.address}/api/v2/", checking())


async def test_a_token_serves_in_place_of_a_user(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("mine\n")
    with served(SmallAirflow(tokens=["mine"])) as airflow:
        await ask(airflow.address, checking(), user=None, password=None, token_file=file)
        await ask(airflow.address, checking(), user=None, password=None, login="Bearer mine")
    assert airflow.asked["POST _token"] == 0


async def test_a_token_that_expires_is_asked_for_anew() -> None:
    async def long_after(client: AirflowClient) -> None:
        await client.check("nightly")
        airflow.tokens.clear()
        assert await client.state_of("nightly", "one") is None

    with served(SmallAirflow()) as airflow:
        await ask(airflow.address, long_after)
    assert airflow.asked["POST _token"] == 2


@pytest.mark.parametrize(
    ("dag", "words"),
    [
        ("weekly", "has no DAG 'weekly' that you may see; `airflow dags list`"),
        ("secret", "answered 403: you may not read the DAG 'secret'"),
        ("~", "'~' is no id of a DAG"),
        ("..", "'..' is no id of a DAG"),
        ("a/b", "'a/b' is no id of a DAG"),
    ],
)
async def test_a_dag_that_cannot_be_run_is_named(dag: str, words: str) -> None:
    with served(SmallAirflow()) as airflow:
        assert words in await refusal(airflow, checking(dag))


async def test_a_paused_dag_would_wait_for_ever() -> None:
    with served(SmallAirflow(paused=True)) as airflow:
        said = await refusal(airflow, checking())
    assert "is paused, so its runs would wait for ever" in said
    assert "`airflow dags unpause nightly`" in said


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"password": "another"}, "refused the user 'me' and the password with 401"),
        ({"user": None, "login": "Bearer old"}, "does not accept these credentials (401)"),
        ({"user": None}, "does not accept these credentials (401)"),
    ],
)
async def test_who_is_not_known_is_told_so(settings: dict[str, Any], words: str) -> None:
    with served(SmallAirflow()) as airflow:
        assert words in await refusal(airflow, checking(), **settings)


@pytest.mark.parametrize(
    ("status", "detail", "words"),
    [
        (400, "Invalid input for param rows: 1 is not of type 'string'", "param rows"),
        (422, [{"loc": ["conf"], "msg": "Input should be valid"}], "Input should be valid"),
        (400, "x" * 100_000, "xxx"),
    ],
)
async def test_a_configuration_that_the_dag_refuses_is_told_in_its_words(
    status: int, detail: object, words: str
) -> None:
    with (
        served(SmallAirflow(refuses=lambda _: (status, detail))) as airflow,
        pytest.raises(ConfigurationRefused, match=words) as caught,
    ):
        await ask(airflow.address, triggering)
    assert len(str(caught.value)) <= 300


async def test_who_may_not_trigger_is_told_so() -> None:
    with served(SmallAirflow(refuses=lambda _: (403, "Forbidden"))) as airflow:
        assert "you may not trigger runs of the DAG 'nightly'" in await refusal(airflow, triggering)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_an_airflow_that_is_busy_is_asked_again(status: int) -> None:
    with served(SmallAirflow(faults=[status] * (TRIES_AT_FIRST - 1))) as airflow:
        await ask(airflow.address, triggering)


async def test_an_airflow_that_is_away_at_first_is_given_up() -> None:
    with served(SmallAirflow(faults=[503] * TRIES_AT_FIRST)) as airflow:
        assert "does not answer: it answered 503: not now" in await refusal(airflow, checking())
    nobody = SmallAirflow(address=f"http://127.0.0.1:{free_port()}")
    assert f"{nobody.address}/ does not answer" in await refusal(nobody, checking())


async def in_the_middle(client: AirflowClient, airflow: SmallAirflow, failing: int) -> str | None:
    await client.check("nightly")
    airflow.faults = [503] * failing
    return await client.state_of("nightly", "one")


async def test_an_airflow_that_goes_away_in_the_middle_is_waited_for_and_that_is_said() -> None:
    with served(SmallAirflow()) as airflow:
        told = await ask(airflow.address, lambda client: in_the_middle(client, airflow, 8))
    assert told == ["Airflow does not answer (it answered 503: not now); asking again"]


async def test_it_is_not_waited_for_without_end() -> None:
    with served(SmallAirflow()) as airflow:
        said = await refusal(
            airflow, lambda client: in_the_middle(client, airflow, 99), patience_s=0.01
        )
    assert "does not answer: it answered 503" in said


async def test_what_is_no_airflow_is_told_so() -> None:
    with served(SmallAirflow()) as airflow:
        elsewhere = SmallAirflow(address=f"{airflow.address}/elsewhere")
        said = await refusal(elsewhere, checking(), user=None, login="Bearer any")
        assert "answered 404 and not as an Airflow 3 does" in said
        said = await refusal(elsewhere, checking())
        assert "gave no token, and answered 404 to POST /auth/token" in said


@pytest.mark.parametrize(
    "address",
    ["airflow:8080", "ftp://airflow", "http://", "http://airflow/?x=1", ""],
)
def test_what_is_no_address_is_told_so(address: str) -> None:
    with pytest.raises(AirflowError, match="no address of an Airflow"):
        AirflowServer.at(address)


def test_a_password_in_the_address_is_refused_and_not_quoted() -> None:
    with pytest.raises(AirflowError, match="PLIMSOLL_AIRFLOW_PASSWORD") as caught:
        AirflowServer.at("http://me:hidden@airflow:8080")
    assert "hidden" not in str(caught.value)


def test_no_password_is_in_a_servers_words() -> None:
    assert "hidden" not in repr(AirflowServer.at("http://airflow", user="me", password="hidden"))


async def test_a_server_by_tls_is_trusted_by_the_given_certificates_only(tmp_path: Path) -> None:
    pair = Pair.make(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate_file, pair.key_file)
    with served(SmallAirflow(), tls) as airflow:
        await ask(airflow.address, checking(), ca_file=pair.certificate_file)
        said = await refusal(airflow, checking())
        assert "cannot be trusted" in said
        assert "give --ca-file" in said
        broken = tmp_path / "broken.crt"
        broken.write_text("none")
        said = await refusal(airflow, checking(), ca_file=broken)
        assert "holds no certificates to trust" in said
