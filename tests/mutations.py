"""The mutations of one module's source: each changes one thing that a test should notice."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNSEEN_KEYWORDS = frozenset({"strict", "repr"})
"""Arguments whose change shows only where the program is already wrong."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change. source: the whole module with it. before, after: its text, cut to a line."""

    line: int
    before: str
    after: str
    source: str


def mutations_of(source: str) -> list[Mutation]:
    """All mutations of a module's source, in the order of its lines."""
    found = [_made(source, node, after) for node, after in _changes(ast.parse(source))]
    return sorted(found, key=lambda mutation: mutation.line)


def _made(source: str, node: ast.expr, after: ast.expr) -> Mutation:
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    text, words = b"".join(lines), ast.unparse(after)
    changed = text[:start] + f"({words})".encode() + text[end:]
    return Mutation(node.lineno, ast.unparse(node)[:80], words[:80], changed.decode())


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of an expression and its replacement."""
    if isinstance(node, ast.expr):
        for after in _changed(node):
            yield node, after
    if isinstance(node, ast.If | ast.IfExp):
        yield node.test, ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield node.value, ast.Constant(None)
    for child in _children(node):
        yield from _changes(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The parts that decide something: no annotations, decorators, messages or assertions."""
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Raise | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.keyword) and node.arg in UNSEEN_KEYWORDS:
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        children = value if isinstance(value, list) else [value]
        yield from (child for child in children if isinstance(child, ast.AST))


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield _with(node, ops=[COMPARISONS[type(op)]()])
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield _with(node, op=ARITHMETIC[type(op)]())
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield _with(node, func=ast.Name(CALLS[name]))
        case _:
            yield from _changed_value(node)


def _changed_value(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Set(elts=elements) if len(elements) > 1:
            for left_out in elements:
                yield _with(node, elts=[each for each in elements if each is not left_out])


def _with(node: ast.expr, **fields: object) -> ast.expr:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
