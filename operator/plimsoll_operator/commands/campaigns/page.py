"""``plimsoll campaign page``: a campaign's page as a file."""

from __future__ import annotations

import sys
from pathlib import Path

from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.views.campaign_facts import gather_campaign
from plimsoll_operator.web.campaign.page import render_campaign_file
from plimsoll_operator.web.report.writing import write_whole
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import StoreError


def page_command(named: str, store_url: str, out: Path, *, now_s: float) -> int:
    """Write the page of the newest campaign of a name; the exit status.

    out: replaced as a whole or not at all; ``-`` prints the page. now_s: Unix seconds, on the page.
    """
    try:
        with existing_store(store_url) as store:
            page = render_campaign_file(gather_campaign(store, TaskId.parse(named), now_s))
        if str(out) == "-":
            sys.stdout.buffer.write(page.encode())  # as its first line says, in any locale
            return 0
        write_whole(out, page)
    except (StoreError, LookupError, ValueError, OSError) as error:
        complain(f"plimsoll campaign page: {error}")
        return 1
    complain(f"{out}: written")
    return 0
