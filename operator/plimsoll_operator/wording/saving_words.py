"""Savings in words. No saving is "none", and never a negative share of what was asked for.

A task that asks for a third of what it needs would show -300%, which nobody can read. How much
more it got is shown in GB·h; ``asking_words`` says why.
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.wording.figure_words import words_for_gb_h, words_for_share

NONE_SAVED: Final = "none"
_LEAST_SHARE: Final = 0.005
"""Up to half a percent more than asked for is rounding, and shows as 0%."""


def words_for_saved_share(saved: float, asked: float) -> str:
    """Return the saved share of what was asked for, in whole percent; '-' if nothing was asked.

    >>> words_for_saved_share(1, 3), words_for_saved_share(-3, 1), words_for_saved_share(0, 0)
    ('33%', 'none', '-')
    """
    if asked > 0 and saved < -_LEAST_SHARE * asked:
        return NONE_SAVED
    return words_for_share(max(saved, 0.0), asked)


def words_for_saved_gb_h(saved_gb_h: float) -> str:
    """Return saved memory-time; if more was used than asked for, say so.

    >>> words_for_saved_gb_h(12.4), words_for_saved_gb_h(-0.4)
    ('12.4 GB·h', 'none, 0.4 GB·h more')
    """
    if saved_gb_h >= 0:
        return words_for_gb_h(saved_gb_h)
    return f"{NONE_SAVED}, {words_for_gb_h(-saved_gb_h)} more"


def saving_words(asked_gb_h: float, given_gb_h: float) -> str:
    """Return the saving as a share of the requested memory-time, and in full.

    >>> saving_words(20.0, 7.6), saving_words(0.1, 0.5)
    ('62% (12.4 GB·h)', 'none (0.4 GB·h more)')
    """
    saved_gb_h = asked_gb_h - given_gb_h
    share = words_for_saved_share(saved_gb_h, asked_gb_h)
    if share == NONE_SAVED:
        return f"{share} ({words_for_gb_h(-saved_gb_h)} more)"
    return f"{share} ({words_for_gb_h(max(saved_gb_h, 0.0))})"


def sentence_for_saving(asked_gb_h: float, given_gb_h: float, *, did: str, took: str) -> str:
    """Return the saving as the beginning of a sentence.

    did, took: the verbs for less and for more than was asked for.

    >>> sentence_for_saving(20.0, 7.6, did="saved", took="took")
    'saved 62% (12.4 GB·h) of the 20 GB·h'
    >>> sentence_for_saving(0.1, 0.5, did="saved", took="took")
    'took 0.4 GB·h more than the 0.1 GB·h'
    """
    asked = words_for_gb_h(asked_gb_h)
    if words_for_saved_share(asked_gb_h - given_gb_h, asked_gb_h) == NONE_SAVED:
        return f"{took} {words_for_gb_h(given_gb_h - asked_gb_h)} more than the {asked}"
    return f"{did} {saving_words(asked_gb_h, given_gb_h)} of the {asked}"
