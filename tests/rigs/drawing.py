"""How much the tests draw at random: a tenth in the inner loop, all in CI, ten times in a soak.

Hypothesis's own option says which: ``--hypothesis-profile quick``, ``full`` (without the option)
or ``soak``. No profile has a deadline: a busy machine is no reason to fail.
"""

from __future__ import annotations

from hypothesis import settings

_FULL = 100
_EXAMPLES = {"quick": _FULL // 10, "full": _FULL, "soak": _FULL * 10}


def register_profiles() -> None:
    """Make the profiles, and load the full one, which an option may replace."""
    for name, examples in _EXAMPLES.items():
        settings.register_profile(name, max_examples=examples, deadline=None)
    settings.load_profile("full")


def drawn(full: int) -> int:
    """That many in CI, the profile's share of them elsewhere: for what tests draw themselves."""
    return max(1, full * settings().max_examples // _FULL)


def examples(full: int) -> settings:
    """Draw that many examples in CI, and the profile's share of them elsewhere."""
    return settings(max_examples=drawn(full))
