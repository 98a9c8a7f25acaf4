"""`operator/` is a source root: an ``__init__.py`` in it would shadow the standard library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_source_roots_are_not_packages() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()
    assert not (ROOT / "predictor" / "__init__.py").exists()


def test_operator_is_the_standard_librarys_even_at_the_root() -> None:
    """Without -P, the working folder comes first on the path."""
    code = "import operator; print(operator.add(1, 2), operator.__file__)"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    total, _, file = answer.stdout.strip().partition(" ")
    assert total == "3"
    assert not Path(file).is_relative_to(ROOT / "operator")
