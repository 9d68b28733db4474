# SPDX-License-Identifier: Apache-2.0
"""The graph of recorded operations, shared and folded.

* Sharing: a node that exists already is not added again, so `c*c` is computed once.
* Folding: operations on constants are computed now, and those without effect are dropped.

===========================  =====================================================
operation                    recorded as
===========================  =====================================================
2 + 3, sin 1, min(1, 2)      the number
x + 0, x * 1, 0 / x, x - x   x, x, 0, 0
(x + 2) + 3, (x * 2) * 3     x + 5, x * 6: constants are gathered, on the right
x / 2, x + x, x - 2          x * 0.5, x * 2, x + -2
(-x) * y, sin(-x), cos(-x)   -(x * y), -sin x, cos x: signs move outwards
|-x|, ||x||, min(x, x)        |x|, |x|, x
x + (-y), -(x - y)           x - y, y - x
y + x, min(y, x)             x + y, min(x, y): the older operand comes first
===========================  =====================================================

Folding follows the algebra of real numbers: results agree with the function run on floats to
rounding, and `x*0` is 0 even where x is infinite or not a number.
"""

import math
from collections.abc import Sequence

from robot_dynamics.codegen.tracing.program import LANES, Node, Nodes, entry_in_lane, size
from robot_dynamics.common.errors import RobotDynamicsError

# f(-x) = -f(x).
ODD = ('sin', 'tanh')
# f(-x) = f(x).
EVEN = ('cos', 'fabs')

EXTREMA = {'minimum': min, 'maximum': max}


class TraceError(RobotDynamicsError, TypeError):
    """A function cannot be recorded: it needs the value of a recording scalar."""


class TooLong(Exception):  # noqa: N818  (never leaves this package)
    """A program has more nodes than it may have."""


class Graph(Nodes):
    """The nodes recorded so far. Every rule is in one of its methods."""

    def __init__(self, lanes: int = 1, limit: int | None = None) -> None:
        super().__init__()
        self.lanes = lanes
        self._sizes: list[int] = []
        self._limit = limit

    def made(self, node: Node) -> None:
        """Store the size of a new node."""
        if len(self._sizes) == self._limit:
            raise TooLong
        self._sizes.append(size(node, self._sizes))

    def size(self, i: int) -> int:
        """Return how many lanes a node uses: 1 for a scalar."""
        return self._sizes[i]

    def pack(self, entries: Sequence[int]) -> int:
        """Record a vector that has these nodes in its last lanes."""
        if len(set(entries)) == 1:
            return entries[0]
        before = self.nodes[entries[0]]
        if before[0] == 'lane' and all(
            self.nodes[i] == ('lane', before[1], lane)
            for lane, i in enumerate(entries, LANES - len(entries))
        ):
            return int(before[1])
        return self.node('pack', *entries)

    def lane(self, i: int, k: int) -> int:
        """Record lane k of a vector; a scalar is the same in all lanes."""
        if self._sizes[i] == 1:
            return i
        if self.nodes[i][0] == 'pack':
            return entry_in_lane(self.nodes[i], k)
        return self.node('lane', i, k)

    def constant(self, value: float) -> int:
        """Return a constant; -0.0 counts as 0.0."""
        if not math.isfinite(value):
            raise TraceError(f'a constant of the program is {value}')
        return self.node('constant', value + 0.0)

    def add(self, i: int, j: int) -> int:
        """Record i + j."""
        if self.nodes[i][0] == 'constant':
            i, j = j, i
        a, b = self.nodes[i], self.nodes[j]
        if b[0] == 'constant':
            if a[0] == 'constant':
                return self.constant(a[1] + b[1])
            if b[1] == 0.0:
                return i
            if a[0] == 'add' and self.nodes[a[2]][0] == 'constant':
                return self.add(a[1], self.constant(self.nodes[a[2]][1] + b[1]))
            return self.node('add', i, j)
        if b[0] == 'neg':
            return self.subtract(i, b[1])
        if a[0] == 'neg':
            return self.subtract(j, a[1])
        if i == j:
            return self.multiply(i, self.constant(2.0))
        return self.node('add', min(i, j), max(i, j))

    def subtract(self, i: int, j: int) -> int:
        """Record i - j."""
        a, b = self.nodes[i], self.nodes[j]
        if i == j:
            return self.constant(0.0)
        if b[0] == 'constant':
            return self.add(i, self.constant(-b[1]))
        if a == ('constant', 0.0):
            return self.negate(j)
        if b[0] == 'neg':
            return self.add(i, b[1])
        if a[0] == 'neg':
            return self.negate(self.add(a[1], j))
        return self.node('sub', i, j)

    def multiply(self, i: int, j: int) -> int:
        """Record i * j."""
        if self.nodes[i][0] == 'constant':
            i, j = j, i
        a, b = self.nodes[i], self.nodes[j]
        if b[0] == 'constant':
            return self._scale(i, a, b[1])
        if a[0] == 'neg':
            return self.negate(self.multiply(a[1], j))
        if b[0] == 'neg':
            return self.negate(self.multiply(i, b[1]))
        return self.node('mul', min(i, j), max(i, j))

    def _scale(self, i: int, a: Node, factor: float) -> int:
        """Record a node times a constant."""
        if a[0] == 'constant':
            return self.constant(a[1] * factor)
        if factor == 0.0:
            return self.constant(0.0)
        if factor == 1.0:
            return i
        if a[0] == 'neg':
            return self.multiply(a[1], self.constant(-factor))
        if factor < 0.0:
            return self.negate(self.multiply(i, self.constant(-factor)))
        if a[0] == 'mul' and self.nodes[a[2]][0] == 'constant':
            return self.multiply(a[1], self.constant(self.nodes[a[2]][1] * factor))
        if a[0] == 'lane':
            return self.lane(self.multiply(a[1], self.constant(factor)), a[2])
        return self.node('mul', i, self.constant(factor))

    def divide(self, i: int, j: int) -> int:
        """Record i / j; division by a constant becomes a multiplication."""
        a, b = self.nodes[i], self.nodes[j]
        if b[0] == 'constant':
            if b[1] == 0.0:
                raise TraceError('division by a constant that is zero')
            return self.multiply(i, self.constant(1.0 / b[1]))
        if a[0] == 'constant' and a[1] == 0.0:
            return i
        if a[0] == 'neg':
            return self.negate(self.divide(a[1], j))
        if b[0] == 'neg':
            return self.negate(self.divide(i, b[1]))
        return self.node('div', i, j)

    def negate(self, i: int) -> int:
        """Record -i."""
        a = self.nodes[i]
        if a[0] == 'constant':
            return self.constant(-a[1])
        if a[0] == 'neg':
            return int(a[1])
        if a[0] == 'sub':
            return self.node('sub', a[2], a[1])
        return self.node('neg', i)

    def function(self, name: str, i: int) -> int:
        """Record a function of i: odd ones pass its sign on, even ones drop it."""
        op, *a = self.nodes[i]
        if op == 'constant':
            if name == 'sqrt' and a[0] < 0.0:
                raise TraceError(f'square root of a constant that is negative, {a[0]}')
            return self.constant(getattr(math, name)(a[0]))
        if op == 'neg' and name in ODD:
            return self.negate(self.node(name, a[0]))
        if op == name == 'fabs':
            return i
        return self.node(name, a[0] if op == 'neg' and name in EVEN else i)

    def extremum(self, name: str, i: int, j: int) -> int:
        """Record the minimum or the maximum of i and j; not a number if one of them is not."""
        a, b = self.nodes[i], self.nodes[j]
        if i == j:
            return i
        if a[0] == 'constant':
            if b[0] == 'constant':
                return self.constant(EXTREMA[name](a[1], b[1]))
            return self.node(name, j, i)
        if b[0] == 'constant':
            return self.node(name, i, j)
        return self.node(name, min(i, j), max(i, j))
