"""A command line that is not understood: exit status 2, before anything is looked up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rigs.processes.command_lines import run_here


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param("explain train-demand", "is not 'namespace/name'", id="a name"),
        pytest.param("export train-demand", "is not 'namespace/name'", id="names"),
        pytest.param("campaign report learn", "is not 'namespace/name'", id="of a campaign"),
        pytest.param("sla plan.json --within 90", "'90' is no span", id="a span"),
        pytest.param("sla plan.json --by tomorrow", "'tomorrow' is no time", id="a time"),
        pytest.param("sla plan.json --within 1h --by 2100-01-01", "write one", id="two deadlines"),
        pytest.param("enforce", "name one task as NAMESPACE/TASK", id="nothing to set"),
        pytest.param("enforce shop/x -n shop", "name one task as NAMESPACE/TASK", id="two to set"),
        pytest.param("pause shop/x -n shop", "a task or a namespace, not both", id="two to pause"),
        pytest.param("replay", "name a trace to replay", id="nothing to replay"),
        pytest.param("replay t.csv --policy foo", "foo", id="no policy"),
        pytest.param("replay t.csv --first-size 2", "is a share of the request", id="no share"),
        pytest.param("replay --from-store x", "is not 'namespace/name'", id="nothing stored"),
        pytest.param("replay --runtime t.csv --method foo", "no method 'foo'", id="no method"),
        pytest.param(
            "import --prometheus http://nowhere:1 --since 30x", "'30x' is no time", id="since"
        ),
        pytest.param("what-if shop/x --memory 4", "'4' is no size", id="bytes"),
        pytest.param("what-if shop/x --memory 1e400", "is no size", id="more than there is"),
        pytest.param("export --out h.xlsx", "h.xlsx names no form", id="no form"),
        pytest.param("traces convert t.txt --out h.zst", "h.zst names no form", id="nor this"),
        pytest.param(
            "import --prometheus http://nowhere:1 --save h.txt", "h.txt names no form", id="saved"
        ),
        pytest.param(
            "traces convert t.txt --out o.csv --timezone Mars/X", "no time zone", id="a zone"
        ),
    ],
)
def test_what_is_not_understood_is_status_2(words: str, told: str, tmp_path: Path) -> None:
    done = run_here(*words.split(), folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert told in " ".join(done.stderr.replace("│", " ").split())
