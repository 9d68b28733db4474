"""Record what a function of scalars does, as a straight-line program.

Run a function on `Scalar` objects instead of floats and each `+ - * /`, sine, cosine, ... adds a
node to a graph. Two things happen on the way, and they are what makes generated code fast:

* sharing: a node that exists already is not made again, so `c*c` is computed once;
* folding: arithmetic on constants is done now; `x*0`, `x*1`, `x + 0`, `x - x` disappear; signs
  move outwards, `(-x)*y = -(x*y)`; constants are gathered, `(x*2)*3 = x*6`.

What is left, without the nodes no result needs, is a `Program`: inputs, nodes in order of
evaluation, outputs. Folding follows the algebra of real numbers: results agree with the function
run on floats to rounding, and `x*0` is 0 even where x is infinite or not a number.
"""

import hashlib
import keyword
import math
import numbers
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from robot_dynamics.errors import RobotDynamicsError

# ('input', name, i), ('constant', value), or an operation on earlier nodes, named by their index:
# ('mul', 3, 7). Operations on a vector ('abreast', 3, 7, ...) are done with each of its entries;
# ('lane', 9, k) is one of them again.
Node = tuple[Any, ...]

# Entries of the longest vector. Shorter ones are in the last lanes.
LANES = 8

BINARY_OPERATIONS = ('add', 'sub', 'mul', 'div')
NO_OPERATIONS = ('input', 'constant', 'abreast', 'lane')
UNARY_OPERATIONS = ('neg', 'sqrt', 'sin', 'cos', 'tanh')

# What nests scalars in the outputs of a function.
SEQUENCES = (list, tuple, np.ndarray)

# Names that generated source uses itself.
RESERVED_NAMES = frozenset({'sin', 'cos', 'sqrt', 'tanh', 'out'})


class TraceError(RobotDynamicsError, TypeError):
    """A function asks a recording scalar for something that only a number has."""


class TooLong(Exception):  # noqa: N818  (never leaves this package)
    """A program has more nodes than it may have."""


@dataclass(frozen=True)
class Signature:
    """What a program takes and gives: enough to call it without knowing its inside."""

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
        """Return how often each operation occurs, those on vectors once per entry."""
        counts: Counter[str] = Counter()
        for node, size in zip(self.nodes, sizes(self.nodes), strict=True):
            counts[node[0]] += size
        return {op: n for op, n in counts.items() if op not in NO_OPERATIONS}

    def digest(self) -> str:
        """Return a fingerprint: equal programs have equal digests, whatever the process."""
        text = repr((self.name, self.signature, self.nodes, self.results))
        return hashlib.sha256(text.encode()).hexdigest()


def operands(node: Node) -> tuple[int, ...]:
    """Return the indices of the nodes that a node is computed from."""
    if node[0] in ('input', 'constant'):
        return ()
    return node[1:2] if node[0] == 'lane' else node[1:]


def sizes(nodes: Sequence[Node]) -> list[int]:
    """Return how many lanes each node has a use for: 1 for a scalar."""
    found: list[int] = []
    for node in nodes:
        found.append(_size(node, found))
    return found


def _size(node: Node, before: Sequence[int]) -> int:
    """Return the size of a node, given those of the nodes before it."""
    if node[0] == 'abreast':
        return len(node) - 1
    return 1 if node[0] == 'lane' else max((before[i] for i in operands(node)), default=1)


def entry_in_lane(node: Node, k: int) -> int:
    """Return the node that a vector ('abreast', i, j, ...) has in lane k."""
    return int(node[k - LANES])


class Scalar:
    """A number that is not known yet: arithmetic on it is recorded.

    NumPy object arrays of scalars work too: `numpy.sin`, `@` and `numpy.cross` end in the methods
        below.
    """

    __slots__ = ('graph', 'index')

    def __init__(self, graph: 'Graph', index: int) -> None:
        self.graph = graph
        self.index = index

    def __add__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.add, self, other)

    def __radd__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.add, other, self)

    def __sub__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.subtract, self, other)

    def __rsub__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.subtract, other, self)

    def __mul__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.multiply, self, other)

    def __rmul__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.multiply, other, self)

    def __truediv__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.divide, self, other)

    def __rtruediv__(self, other: Any) -> 'Scalar':
        return self._record(self.graph.divide, other, self)

    def __neg__(self) -> 'Scalar':
        return Scalar(self.graph, self.graph.negate(self.index))

    def __pos__(self) -> 'Scalar':
        return self

    def __pow__(self, exponent: Any) -> 'Scalar':
        if exponent == 0.5:
            return self.sqrt()
        if not isinstance(exponent, (int, float)) or exponent != int(exponent):
            raise TraceError(f'x**{exponent}: only integer powers and x**0.5 can be recorded')
        power = Scalar(self.graph, self.graph.constant(1.0))
        for _ in range(abs(int(exponent))):
            power = power * self
        return power if exponent >= 0 else 1.0 / power

    @property
    def lanes(self) -> int:
        """How many scalars `abreast` may take."""
        return self.graph.lanes

    def abreast(self, values: Sequence[Any]) -> 'Scalar':
        """Return the vector of several scalars. What is done with it is done with each of them."""
        return Scalar(self.graph, self.graph.abreast([_result(self.graph, x) for x in values]))

    def lane(self, k: int) -> 'Scalar':
        """Return the scalar in lane k of a vector; its scalars are in the last lanes."""
        return Scalar(self.graph, self.graph.lane(self.index, k))

    def sin(self) -> 'Scalar':
        """Return the sine."""
        return Scalar(self.graph, self.graph.odd('sin', self.index))

    def cos(self) -> 'Scalar':
        """Return the cosine."""
        return Scalar(self.graph, self.graph.cosine(self.index))

    def tanh(self) -> 'Scalar':
        """Return the hyperbolic tangent."""
        return Scalar(self.graph, self.graph.odd('tanh', self.index))

    def sqrt(self) -> 'Scalar':
        """Return the square root; not a number below zero."""
        return Scalar(self.graph, self.graph.square_root(self.index))

    def _record(self, operation: Callable[[int, int], int], a: Any, b: Any) -> 'Scalar':
        i, j = self.graph.index_of(a), self.graph.index_of(b)
        if i is None or j is None:
            return NotImplemented  # type: ignore[no-any-return]
        return Scalar(self.graph, operation(i, j))

    def _no_value(self, *_: Any) -> NoReturn:
        raise TraceError(
            'a recorded scalar has no value: a branch, a comparison, float() or math.sin() cannot '
            'depend on it (decide by what is known when the program is made; write numpy.sin(x))'
        )

    __bool__ = __float__ = __int__ = __index__ = __abs__ = _no_value
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _no_value
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f'<Scalar {self.index}: {self.graph.nodes[self.index]}>'


class Graph:
    """The nodes recorded so far. Every rule of simplification is in one of its methods."""

    def __init__(self, lanes: int = 1, limit: int | None = None) -> None:
        self.lanes = lanes
        self.nodes: list[Node] = []
        self._sizes: list[int] = []
        self._index: dict[Node, int] = {}
        self._limit = limit

    def node(self, *node: Any) -> int:
        """Return the index of this very node, made only if it is new."""
        index = self._index.get(node)
        if index is None:
            if len(self.nodes) == self._limit:
                raise TooLong
            index = self._index[node] = len(self.nodes)
            self.nodes.append(node)
            self._sizes.append(_size(node, self._sizes))
        return index

    def abreast(self, entries: Sequence[int]) -> int:
        """Record a vector that has these nodes in its last lanes."""
        if len(set(entries)) == 1:
            return entries[0]
        before = self.nodes[entries[0]]
        if before[0] == 'lane' and all(
            self.nodes[i] == ('lane', before[1], lane)
            for lane, i in enumerate(entries, LANES - len(entries))
        ):
            return int(before[1])
        return self.node('abreast', *entries)

    def lane(self, i: int, k: int) -> int:
        """Record lane k of a vector; a scalar is the same in all lanes."""
        if self._sizes[i] == 1:
            return i
        if self.nodes[i][0] == 'abreast':
            return entry_in_lane(self.nodes[i], k)
        return self.node('lane', i, k)

    def constant(self, value: float) -> int:
        """Return a constant; -0.0 counts as 0.0."""
        if not math.isfinite(value):
            raise TraceError(f'a constant of the program is {value}')
        return self.node('constant', value + 0.0)

    def index_of(self, operand: Any) -> int | None:
        """Return the node of a scalar or of a number, None for anything else."""
        if isinstance(operand, Scalar):
            if operand.graph is not self:
                raise TraceError('scalars of two different recordings meet in one operation')
            return operand.index
        return self.constant(float(operand)) if isinstance(operand, numbers.Real) else None

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

    def odd(self, function: str, i: int) -> int:
        """Record the sine or hyperbolic tangent of i: f(-x) = -f(x)."""
        a = self.nodes[i]
        if a[0] == 'constant':
            return self.constant(getattr(math, function)(a[1]))
        if a[0] == 'neg':
            return self.negate(self.node(function, a[1]))
        return self.node(function, i)

    def cosine(self, i: int) -> int:
        """Record cos i: cos(-x) = cos x."""
        a = self.nodes[i]
        if a[0] == 'constant':
            return self.constant(math.cos(a[1]))
        return self.node('cos', a[1] if a[0] == 'neg' else i)

    def square_root(self, i: int) -> int:
        """Record the square root of i."""
        a = self.nodes[i]
        if a[0] == 'constant':
            if a[1] < 0.0:
                raise TraceError(f'square root of a constant that is negative, {a[1]}')
            return self.constant(math.sqrt(a[1]))
        return self.node('sqrt', i)


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, int],
    *,
    name: str = 'program',
    outputs: Sequence[str] | None = None,
    vectors: bool = False,
    limit: int | None = None,
) -> Program:
    """Run a function on recording scalars and return the program it stands for.

    Args:
        function: takes one list of scalars per input, in the order of `inputs`, and returns a
            scalar or nested lists (or object arrays) of scalars and numbers: one output. A tuple
            of these: several outputs.
        inputs: name and size of each input vector.
        name: of the program; an identifier.
        outputs: names of the outputs; by default `out`, or `out0`, `out1`, ...
        vectors: record what the function does with several scalars alike, by `Scalar.abreast`.
        limit: how many nodes may be recorded; by default any number.

    Raises:
        TraceError: the function branches on a value, returns ragged lists, or names are unusable.
        TooLong: the function records more nodes than the limit.
    """
    for text in (name, *inputs):
        if not text.isidentifier() or keyword.iskeyword(text) or text in RESERVED_NAMES:
            raise TraceError(
                f'{text!r} cannot name a program or an input: use an identifier, no reserved word'
            )
    graph = Graph(LANES if vectors else 1, limit)
    arguments = [
        [Scalar(graph, graph.node('input', key, i)) for i in range(size)]
        for key, size in inputs.items()
    ]
    returned = function(*arguments)
    values = returned if isinstance(returned, tuple) else (returned,)
    if not values:
        raise TraceError(f'{name} returns no output')
    if outputs is None:
        outputs = (
            [f'out{k}' for k in range(len(values))] if isinstance(returned, tuple) else ['out']
        )
    if len(outputs) != len(values):
        raise TraceError(
            f'{name} returns {len(values)} outputs, names are given for {list(outputs)}'
        )
    shapes = [_shape(value) for value in values]
    results = [[_result(graph, entry) for entry in _entries(value)] for value in values]
    signature = Signature(tuple(inputs.items()), tuple(zip(outputs, shapes, strict=True)))
    return _live_program(name, signature, graph.nodes, results)


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of nested sequences, all of one length at each depth."""
    if not isinstance(value, SEQUENCES):
        return ()
    shapes = {_shape(row) for row in value}
    if len(shapes) > 1:
        raise TraceError(f'an output is ragged: its rows have shapes {sorted(shapes)}')
    return (len(value), *(shapes.pop() if shapes else ()))


def _entries(value: Any) -> Iterator[Any]:
    """Yield the entries of nested sequences in C order."""
    if not isinstance(value, SEQUENCES):
        yield value
        return
    for row in value:
        yield from _entries(row)


def _result(graph: Graph, entry: Any) -> int:
    index = graph.index_of(entry)
    if index is None:
        raise TraceError(
            f'an output holds {entry!r} ({type(entry).__name__}), neither scalar nor real number'
        )
    return index


def _live_program(
    name: str, signature: Signature, nodes: list[Node], results: list[list[int]]
) -> Program:
    """Return the program without the nodes that no result needs, renumbered."""
    live = set()
    waiting = [index for entries in results for index in entries]
    while waiting:
        index = waiting.pop()
        if index not in live:
            live.add(index)
            waiting.extend(operands(nodes[index]))
    order = sorted(live)
    new = {old: position for position, old in enumerate(order)}
    kept = []
    for index in order:
        node = nodes[index]
        moved = tuple(new[i] for i in operands(node))
        kept.append((node[0], *moved, *node[1 + len(moved) :]) if moved else node)
    return Program(
        name, signature, tuple(kept), tuple(tuple(new[i] for i in entries) for entries in results)
    )
