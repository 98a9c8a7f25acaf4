"""Calls for a campaign that fail: which of them fail for good, and which are made again."""

from __future__ import annotations

from unittest.mock import AsyncMock, Mock

import pytest

from plimsoll_operator.campaigns.spec import BadCampaign, read_campaign
from plimsoll_operator.controller.campaigns.campaign_jobs import EXCEEDED_QUOTA, CampaignJobs
from plimsoll_operator.kube.errors import ApiError, NotFound, Refused, Unknown, Unreachable
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.core.units import MIB
from tests.operator.campaigns.documents import stored

CAMPAIGN = read_campaign(stored())
RUN = CampaignRun(scenario=0, values={"mib": "1"}, memory_bytes=MIB)
A_TOKEN_THAT_HAS_JUST_ENDED = Unknown("the API server does not know you")


def jobs_where(error: ApiError) -> CampaignJobs:
    """Every call of an object fails so."""
    calls = Mock(create=AsyncMock(side_effect=error), delete=AsyncMock(side_effect=error))
    calls.get = AsyncMock(side_effect=error)
    return CampaignJobs(Mock(api=calls))


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Unreachable("503"), id="no answer"),
        pytest.param(Refused(f"{EXCEEDED_QUOTA}: jobs"), id="a quota without room"),
        pytest.param(A_TOKEN_THAT_HAS_JUST_ENDED, id="credentials that have just ended"),
    ],
)
async def test_a_job_that_the_next_try_may_make_is_refused_by_nobody(error: ApiError) -> None:
    with pytest.raises(type(error)):
        await jobs_where(error).create(CAMPAIGN, RUN)


async def test_a_job_that_the_api_server_refuses_is_never_made_and_says_why() -> None:
    why = await jobs_where(Refused("admission webhook denied it")).create(CAMPAIGN, RUN)
    assert why == "the API server refuses its Job: admission webhook denied it"


@pytest.mark.parametrize(
    ("error", "is_gone"),
    [
        pytest.param(NotFound("gone"), True, id="gone already"),
        pytest.param(Refused("you may not"), True, id="refused: the next try would be, too"),
        pytest.param(Unreachable("503"), False, id="no answer"),
        pytest.param(A_TOKEN_THAT_HAS_JUST_ENDED, False, id="credentials that have just ended"),
    ],
)
async def test_a_job_is_left_if_the_next_try_may_delete_it(error: ApiError, is_gone: bool) -> None:
    assert await jobs_where(error).delete(CAMPAIGN, [RUN]) is is_gone


async def test_a_config_map_that_cannot_be_read_now_makes_no_bad_campaign() -> None:
    document = stored(scenarios={"configMap": {"name": "rows", "key": "rows.csv"}})
    campaign = read_campaign(document)
    with pytest.raises(Unknown):
        await jobs_where(A_TOKEN_THAT_HAS_JUST_ENDED).scenarios_file(campaign)
    with pytest.raises(BadCampaign, match="ConfigMap rows: you may not"):
        await jobs_where(Refused("you may not")).scenarios_file(campaign)
