"""Sums of many terms, as chains of fused multiply-adds.

A program adds two numbers at a time: `(a*b + c*d) + e` is two products and two sums. As a chain,
`fma(a, b, fma(c, d, e))`, it takes two instructions, one for each product. So a sum that only
another sum, soon after, uses is merged into it, and a product that only a sum uses is computed
there. A chain begins with a number, if there is one, and goes on with what is known earliest: what
everything waits for comes last. This is another order than the program's, right to rounding.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from robot_dynamics.compiler.trace import Node, Program, operands, sizes

SUMS = ('add', 'sub')

# A sum is merged into one that follows within so many nodes: its terms would keep registers busy.
NEAR = 8

# Cycles from operands to result, roughly; additions, multiplications and what is not named take 4.
LATENCY = {'input': 0, 'constant': 0, 'neg': 1, 'div': 13, 'sqrt': 20, 'sin': 60, 'cos': 60}


class Term(NamedTuple):
    """A term of a sum."""

    positive: bool
    node: int
    product: bool  # computed in the sum, by a fused multiply-add


def fused(program: Program) -> Program:
    """Return the program with a node for each instruction: fma(a, b, c) = a b + c."""
    terms, merged = terms_of_sums(program)
    code = _Instructions(program)
    for index, node in enumerate(program.nodes):
        if index in terms:
            code.add_chain(index, terms[index])
        elif index not in merged:
            code.add(index, node)
    return code.program()


def soonest_first(program: Program) -> Program:
    """Return the program with its nodes in the order in which they can be begun.

    A single sample waits for results more than for the processor: what depends on little should
    not stand behind what waits.
    """
    ready: list[int] = []
    for node in program.nodes:
        ready.append(max((ready[i] for i in operands(node)), default=0) + _latency(node))
    starts = [end - _latency(node) for end, node in zip(ready, program.nodes, strict=True)]
    order = sorted(range(len(starts)), key=lambda i: starts[i])
    new = {old: place for place, old in enumerate(order)}
    nodes = []
    for node in (program.nodes[old] for old in order):
        moved = [new[i] for i in operands(node)]
        nodes.append((node[0], *moved, *node[1 + len(moved) :]))
    results = tuple(tuple(new[i] for i in entries) for entries in program.results)
    return Program(program.name, program.signature, tuple(nodes), results)


def _latency(node: Node) -> int:
    return LATENCY.get(node[0], 4)


class _Instructions:
    """Instructions, each written once, and when their results are there."""

    def __init__(self, source: Program) -> None:
        self._source = source
        self._nodes: list[Node] = []
        self._ready: list[int] = []  # cycles from the start of the program
        self._index: dict[Node, int] = {}
        self._new: dict[int, int] = {}  # where the nodes of the source are now

    def add(self, index: int, node: Node) -> None:
        """Add a node of the source as it is."""
        moved = [self._new[i] for i in operands(node)]
        self._new[index] = self._write(node[0], *moved, *node[1 + len(moved) :])

    def add_chain(self, index: int, terms: Sequence[Term]) -> None:
        """Add a sum, as a chain."""
        # First of all the one that needs no instruction, a number with the sign +.
        first = min(terms, key=lambda term: (term.product, not term.positive, self._arrival(term)))
        total: int | None = None
        for term in (first, *sorted(terms, key=self._arrival)):
            if term is not first or total is None:
                total = self._plus(total, term)
        assert total is not None
        self._new[index] = total

    def program(self) -> Program:
        """Return the program of these instructions."""
        source = self._source
        results = tuple(tuple(self._new[i] for i in entries) for entries in source.results)
        return Program(source.name, source.signature, tuple(self._nodes), results)

    def _write(self, *node: Any) -> int:
        if node not in self._index:
            self._index[node] = len(self._nodes)
            start = max((self._ready[i] for i in operands(node)), default=0)
            self._nodes.append(node)
            self._ready.append(start + _latency(node))
        return self._index[node]

    def _factors(self, term: Term) -> list[int]:
        """Return what a term is made from: two factors, or itself."""
        parts = operands(self._source.nodes[term.node]) if term.product else (term.node,)
        return [self._new[i] for i in parts]

    def _arrival(self, term: Term) -> int:
        return max(self._ready[i] for i in self._factors(term))

    def _plus(self, total: int | None, term: Term) -> int:
        """Write total + term; without a total, the term."""
        a, *b = self._factors(term)
        if b or total is None:
            a = a if term.positive else self._write('neg', a)
        if total is None:
            return self._write('mul', a, *b) if b else a
        if b:
            return self._write('fma', a, *b, total)
        return self._write('add' if term.positive else 'sub', total, a)


def terms_of_sums(program: Program) -> tuple[dict[int, list[Term]], set[int]]:
    """Return the terms of each sum, and the nodes merged into sums."""
    nodes, size = program.nodes, sizes(program.nodes)
    uses = Counter(i for node in nodes for i in operands(node))
    uses.update(i for entries in program.results for i in entries)

    def only_of(index: int, i: int) -> bool:
        """Tell whether node i is only used by this node, and as wide."""
        return uses[i] == 1 and size[i] == size[index]

    inner = {
        i
        for index, node in enumerate(nodes)
        if node[0] in SUMS
        for i in operands(node)
        if nodes[i][0] in SUMS and only_of(index, i) and index - i <= NEAR
    }
    terms = {
        index: [
            Term(positive, i, nodes[i][0] == 'mul' and only_of(index, i))
            for positive, i in _addends(nodes, inner, index)
        ]
        for index, node in enumerate(nodes)
        if node[0] in SUMS and index not in inner
    }
    products = {term.node for chain in terms.values() for term in chain if term.product}
    return terms, inner | products


def _addends(
    nodes: Sequence[Node], inner: set[int], index: int, positive: bool = True
) -> Iterator[tuple[bool, int]]:
    """Yield the signs and nodes whose sum is a node, sums within sums dissolved."""
    op, *pair = nodes[index]
    for i, sign in zip(pair, (positive, positive == (op == 'add')), strict=True):
        if i in inner:
            yield from _addends(nodes, inner, i, sign)
        else:
            yield sign, i
