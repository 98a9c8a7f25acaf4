"""Join a day's sales with other data about them: the demo's second task, pandas throughout.

It makes a table of sales, joins the article's master data and the promotions that ran, and sums the
revenue by store and category. Memory follows ``--rows``; how it does so depends on ``--region``. In
some regions sales carry text (customers, references). In some an article is in several promotions
at once, so that the join makes several rows of each sale.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True, slots=True)
class Region:
    """How a region's sales look.

    promotions: promotions an article is in; the join makes as many rows of each sale.
    customers: distinct customer names; 0 if sales are anonymous.
    references: whether each sale carries a reference of its own, as text.
    """

    stores: int
    articles: int
    promotions: int
    customers: int
    references: bool


REGIONS = {
    "north": Region(stores=40, articles=2_000, promotions=1, customers=0, references=False),
    "south": Region(stores=120, articles=8_000, promotions=2, customers=0, references=False),
    "coast": Region(stores=60, articles=5_000, promotions=4, customers=0, references=False),
    "online": Region(stores=1, articles=60_000, promotions=1, customers=50_000, references=True),
}


def sales_of(region: Region, rows: int, seed: int) -> pd.DataFrame:
    """One row per sale; text columns only if the region has them."""
    random = np.random.default_rng(seed)
    sales = pd.DataFrame(
        {
            "store": random.integers(0, region.stores, size=rows),
            "article": random.integers(0, region.articles, size=rows),
            "pieces": random.poisson(1.6, size=rows) + 1,
            "paid": random.gamma(4.0, 9.0, size=rows),
        }
    )
    if region.customers:
        names = np.array([f"customer {number:08d}" for number in range(region.customers)], object)
        sales["customer"] = names[random.integers(0, region.customers, size=rows)]
    if region.references:
        sales["reference"] = [f"sale {seed}/{number:010d}" for number in range(rows)]
    return sales


def articles_of(region: Region, seed: int) -> pd.DataFrame:
    """The articles' master data: one row per article."""
    random = np.random.default_rng(seed + 1)
    categories = np.array([f"category {number:02d}" for number in range(30)], object)
    return pd.DataFrame(
        {
            "article": np.arange(region.articles),
            "category": categories[random.integers(0, len(categories), size=region.articles)],
            "cost": random.gamma(4.0, 5.0, size=region.articles),
        }
    )


def promotions_of(region: Region, seed: int) -> pd.DataFrame:
    """Which promotions ran: ``region.promotions`` rows per article."""
    random = np.random.default_rng(seed + 2)
    rows = region.articles * region.promotions
    return pd.DataFrame(
        {
            "article": np.repeat(np.arange(region.articles), region.promotions),
            "promotion": np.tile(np.arange(region.promotions), region.articles),
            "discount": random.uniform(0.0, 0.4, size=rows),
        }
    )


def margins(region: Region, rows: int, seed: int) -> pd.DataFrame:
    """Join and aggregate: one row per store and category, with its margin and sales counted."""
    sales = sales_of(region, rows, seed)
    joined = sales.merge(articles_of(region, seed), on="article")
    joined = joined.merge(promotions_of(region, seed), on="article")
    joined["margin"] = joined["paid"] * (1 - joined["discount"]) - joined["cost"] * joined["pieces"]
    joined = joined.sort_values(["store", "category", "margin"], ascending=False)
    grouped = joined.groupby(["store", "category"], sort=True)
    answer = grouped.agg(margin=("margin", "sum"), best=("margin", "max"), sales=("paid", "size"))
    if region.references:
        answer["references"] = grouped["reference"].nunique()
    return answer


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, join, print one line."""
    parser = argparse.ArgumentParser(description="Join and sum a day's generated sales.")
    parser.add_argument("--rows", type=int, required=True, help="sales of the day, >= 1")
    parser.add_argument("--region", choices=sorted(REGIONS), required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.rows < 1:
        parser.error("needs at least 1 row")
    started_s = time.monotonic()
    answer = margins(REGIONS[given.region], given.rows, given.seed)
    print(
        f"join-sales rows={given.rows} region={given.region} groups={len(answer)} "
        f"margin={answer['margin'].sum():.0f} seconds={time.monotonic() - started_s:.1f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
