"""Sums of many terms, as chains of fused multiply-adds.

A program adds two numbers at a time: `(a*b + c*d) + e` is two products and two sums. As a chain,
`fma(a, b, fma(c, d, e))`, it takes two instructions, one for each product. So a sum that only
another sum, soon after, uses is merged into it, and a product that only a sum uses is computed
there. Numbers are added first, then products: another order than the program's, right to rounding.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from robot_dynamics.compiler.trace import Node, Program, operands

SUMS = ('add', 'sub')

# A sum is merged into one that follows within so many nodes: its terms would keep registers busy.
NEAR = 8


class Term(NamedTuple):
    """A term of a sum."""

    positive: bool
    node: int
    product: bool  # computed in the sum, by a fused multiply-add


def chains(program: Program) -> tuple[dict[int, list[Term]], set[int]]:
    """Return the terms of each sum, in the order to add them, and the nodes merged into sums."""
    nodes = program.nodes
    uses = Counter(i for node in nodes for i in operands(node))
    uses.update(i for entries in program.results for i in entries)
    inner = {
        i
        for index, node in enumerate(nodes)
        if node[0] in SUMS
        for i in operands(node)
        if nodes[i][0] in SUMS and uses[i] == 1 and index - i <= NEAR
    }
    addends = {
        index: list(_addends(nodes, inner, index))
        for index, node in enumerate(nodes)
        if node[0] in SUMS and index not in inner
    }
    products = {
        i
        for signed in addends.values()
        for _, i in signed
        if nodes[i][0] == 'mul' and uses[i] == 1
    }
    terms = {
        index: sorted((Term(sign, i, i in products) for sign, i in signed), key=_instructions)
        for index, signed in addends.items()
    }
    return terms, inner | products


def _instructions(term: Term) -> tuple[bool, bool]:
    """Order terms: first the one that needs no instruction, a number with the sign +."""
    return term.product, not term.positive


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
