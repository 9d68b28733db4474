# SPDX-License-Identifier: Apache-2.0
"""Straight-line programs: lists of nodes, each after its operands."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# ('input', name, i), ('constant', value), or an operation on earlier nodes, named by their index:
# ('mul', 3, 7). Operations on a vector ('pack', 3, 7, ...) are done with each of its entries;
# ('lane', 9, k) is one of them again.
Node = tuple[Any, ...]

# Entries of the longest vector. Shorter ones are in the last lanes.
LANES = 8

BINARY_OPERATIONS = ('add', 'sub', 'mul', 'div')
NO_OPERATIONS = ('input', 'constant', 'pack', 'lane')


@dataclass(frozen=True)
class Signature:
    """Names, sizes and shapes of a program's inputs and outputs."""

    inputs: tuple[tuple[str, int], ...]  # name and size of each input vector
    outputs: tuple[tuple[str, tuple[int, ...]], ...]  # name and shape of each output

    @property
    def output_sizes(self) -> list[int]:
        """Number of entries of each output."""
        return [math.prod(shape) for _, shape in self.outputs]


@dataclass(frozen=True)
class Program:
    """A straight-line program on scalars: no branch, no loop, no memory."""

    name: str
    signature: Signature
    nodes: tuple[Node, ...]  # each operand precedes its use
    results: tuple[tuple[int, ...], ...]  # per output, the nodes of its entries in C order

    def operation_counts(self) -> dict[str, int]:
        """Return the number of each operation; one on a vector counts once per entry."""
        counts: Counter[str] = Counter()
        for node, entries in zip(self.nodes, sizes(self.nodes), strict=True):
            counts[node[0]] += entries
        return {op: n for op, n in counts.items() if op not in NO_OPERATIONS}

    def renumbered(self, nodes: Iterable[Node], new: Mapping[Any, int]) -> 'Program':
        """Return the program with other nodes: what was node i is now node new[i]."""
        results = tuple(tuple(new[i] for i in entries) for entries in self.results)
        return replace(self, nodes=tuple(nodes), results=results)

    def digest(self) -> str:
        """Return a fingerprint: equal programs have equal digests, whatever the process."""
        text = repr((self.name, self.signature, self.nodes, self.results))
        return hashlib.sha256(text.encode()).hexdigest()


def operands(node: Node) -> tuple[int, ...]:
    """Return the indices of the nodes that a node is computed from."""
    if node[0] in ('input', 'constant'):
        return ()
    return node[1:2] if node[0] == 'lane' else node[1:]


def moved(node: Node, new: Mapping[int, int]) -> Node:
    """Return a node with operands new[i] instead of i."""
    before = operands(node)
    return (node[0], *(new[i] for i in before), *node[1 + len(before) :])


def needed(nodes: Sequence[Node], roots: Iterable[int]) -> list[int]:
    """Return the nodes that the roots are computed from, and the roots, in order of evaluation."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting.extend(operands(nodes[index]))
    return sorted(found)


def sizes(nodes: Sequence[Node]) -> list[int]:
    """Return how many lanes each node uses: 1 for a scalar."""
    found: list[int] = []
    for node in nodes:
        found.append(size(node, found))
    return found


def size(node: Node, before: Sequence[int]) -> int:
    """Return the size of a node, given those of the nodes before it."""
    if node[0] == 'pack':
        return len(node) - 1
    return 1 if node[0] == 'lane' else max((before[i] for i in operands(node)), default=1)


def entry_in_lane(node: Node, k: int) -> int:
    """Return the node that a vector ('pack', i, j, ...) has in lane k."""
    return int(node[k - LANES])


class Nodes:
    """Nodes, each made only once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    def node(self, *node: Any) -> int:
        """Return the index of a node, added only if it is new."""
        index = self._index.get(node)
        if index is None:
            index = self._index[node] = len(self.nodes)
            self.nodes.append(node)
            self.made(node)
        return index

    def made(self, node: Node) -> None:
        """Handle a new node."""
