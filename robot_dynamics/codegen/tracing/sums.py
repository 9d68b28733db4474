# SPDX-License-Identifier: Apache-2.0
"""Sums of many terms, as chains of fused multiply-adds.

A program adds two numbers at a time: `(a*b + c*d) + e` is two products and two sums. As a chain,
`fma(a, b, fma(c, d, e))`, it takes two instructions, one for each product. So a sum that only
another sum, soon after, uses is merged into it, and a product that only a sum uses is computed
there. A chain begins with a number, if there is one, and continues with the terms that are ready
first, so that the critical path comes last. Results differ from the program's by rounding.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from robot_dynamics.codegen.tracing.program import Node, Nodes, Program, moved, operands, sizes

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

    The time of a single sample is mostly latency: operations whose operands are ready should not
    follow operations that wait.
    """
    ready: list[int] = []
    for node in program.nodes:
        ready.append(_ready(node, ready))
    starts = [end - _latency(node) for end, node in zip(ready, program.nodes, strict=True)]
    order = sorted(range(len(starts)), key=lambda i: starts[i])
    new = {old: place for place, old in enumerate(order)}
    return program.renumbered((moved(program.nodes[old], new) for old in order), new)


def _ready(node: Node, ready: Sequence[int]) -> int:
    """Return when the result of a node is there, given those of its operands, in cycles."""
    return max((ready[i] for i in operands(node)), default=0) + _latency(node)


def _latency(node: Node) -> int:
    return LATENCY.get(node[0], 4)


class _Instructions(Nodes):
    """Instructions, each written once, and when their results are there."""

    def __init__(self, source: Program) -> None:
        super().__init__()
        self._source = source
        self._ready: list[int] = []  # cycles from the start of the program
        self._new: dict[int, int] = {}  # where the nodes of the source are now

    def made(self, node: Node) -> None:
        """Store the time at which the result of a new node is ready."""
        self._ready.append(_ready(node, self._ready))

    def add(self, index: int, node: Node) -> None:
        """Add a node of the source as it is."""
        self._new[index] = self.node(*moved(node, self._new))

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
        return self._source.renumbered(self.nodes, self._new)

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
            a = a if term.positive else self.node('neg', a)
        if total is None:
            return self.node('mul', a, *b) if b else a
        if b:
            return self.node('fma', a, *b, total)
        return self.node('add' if term.positive else 'sub', total, a)


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
    """Yield the signs and nodes whose sum is a node, with merged sums expanded."""
    op, *pair = nodes[index]
    for i, sign in zip(pair, (positive, positive == (op == 'add')), strict=True):
        if i in inner:
            yield from _addends(nodes, inner, i, sign)
        else:
            yield sign, i
