"""Puts a property of Spark where it wins over configuration, and still loses to code.

That place is the last option of ``spark-submit`` before the program. It wins over properties files,
``spark-defaults.conf`` and earlier options. A program that Python starts reads a variable.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from plimsoll_operator.names.json_patch import Operation, add
from plimsoll_operator.pods.spec import mapping, sequence

PYTHON_OPTIONS: Final = "PYSPARK_SUBMIT_ARGS"
_PYTHONS_LAST: Final = "pyspark-shell"
_PYTHON: Final = re.compile(r"python[0-9.]{0,8}", re.ASCII)
_DRIVER: Final = "driver"
_ENTRYPOINT: Final = "entrypoint.sh"
_SUBMIT: Final = "spark-submit"
_MOST_WORDS: Final = 10_000
_MOST_CHARS: Final = 16_384
_DEPLOY_MODE: Final = "--deploy-mode"
_WITH_VALUE: Final = frozenset(
    {
        *("--archives", "--class", "--conf", "-c", _DEPLOY_MODE, "--driver-class-path"),
        *("--driver-cores", "--driver-default-class-path", "--driver-java-options"),
        *("--driver-library-path", "--driver-memory", "--executor-cores", "--executor-memory"),
        *("--files", "--jars", "--keytab", "--master", "--name", "--num-executors", "--packages"),
        *("--exclude-packages", "--principal", "--properties-file", "--proxy-user", "--py-files"),
        *("--queue", "--repositories", "--total-executor-cores"),
    }
)
"""Options of ``SparkSubmitOptionParser``, without --kill and --status, which start no program, and
--remote, with which another process has the program's settings."""
_WITHOUT: Final = frozenset({"--load-spark-defaults", "--supervise", "--verbose", "-v"})

_Word = tuple[str, str]
"""A word of a container, and its path: ``args/3``."""


def replaced(container: Mapping[str, Any], path: str, setting: str) -> list[Operation] | None:
    """Return what makes a container start Spark with a setting; None if no place for it is safe.

    path: of the container. setting: ``name=value``, without a space or a quote.
    """
    words = _words(container)
    if words is None or not words:
        return None
    program = _program(words)
    if program is not None:
        field, _, at = program.partition("/")
        second = f"{path}/{field}/{int(at) + 1}"
        return [add(f"{path}/{program}", "--conf"), add(second, setting)]
    if _PYTHON.fullmatch(_name_of(words[0])):
        return _for_python(container, path, setting)
    return None


def _words(container: Mapping[str, Any]) -> Sequence[_Word] | None:
    """Return all words in order; None if one of them is not a text."""
    found = [
        (word, f"{field}/{at}")
        for field in ("command", "args")
        for at, word in enumerate(sequence(container.get(field)))
    ]
    sound = len(found) <= _MOST_WORDS and all(isinstance(word, str) for word, _ in found)
    return found if sound else None


def _program(words: Sequence[_Word]) -> str | None:
    """Return the path of the word that names the program, after all options of spark-submit."""
    left = iter(words)
    word, path = next(left)
    if _name_of((word, path)) == _ENTRYPOINT:
        word, path = next(left, ("", ""))
    # The entrypoint of Spark's images turns this word into spark-submit; a submitter writes it.
    starts = (word == _DRIVER and path != "command/0") or _name_of((word, path)) == _SUBMIT
    return _behind_options(left) if starts else None


def _behind_options(left: Iterator[_Word]) -> str | None:
    for word, path in left:
        if not word.startswith("-"):
            return path
        name, equals, value = word.partition("=")
        if name in _WITH_VALUE:
            value = value if equals else next(left, ("", ""))[0]
            if not value or (name == _DEPLOY_MODE and value != "client"):
                return None
        elif word not in _WITHOUT:
            return None
    return None


def _name_of(word: _Word) -> str:
    return PurePosixPath(word[0]).name


def _for_python(container: Mapping[str, Any], path: str, setting: str) -> list[Operation] | None:
    """Return the variable with one more option; None if the container does not have it.

    A new variable would hide an image's own value, and the program might behave differently.
    """
    variables = [mapping(each) for each in sequence(container.get("env"))]
    places = [at for at, each in enumerate(variables) if each.get("name") == PYTHON_OPTIONS]
    value = variables[places[-1]].get("value") if places else None
    if not isinstance(value, str) or len(value) > _MOST_CHARS:
        return None
    try:
        last = shlex.split(value)[-1:]
    except ValueError:
        return None
    options = value.rstrip().removesuffix(_PYTHONS_LAST)
    if last != [_PYTHONS_LAST] or (options and not options[-1].isspace()):
        return None
    more = f"{options}--conf {setting} {_PYTHONS_LAST}"
    return [add(f"{path}/env/{places[-1]}/value", more)]
