# SPDX-License-Identifier: Apache-2.0
"""Record a function of scalars as a straight-line program.

Run a function on `Scalar` objects instead of floats and each `+ - * /`, sine, minimum, ... adds a
node to a `Graph`, which shares and folds. What is left, without the nodes no result needs, is a
`Program`: inputs, nodes in order of evaluation, outputs.
"""

import functools
import keyword
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from robot_dynamics.codegen.tracing.graph import Graph, TraceError
from robot_dynamics.codegen.tracing.program import LANES, Program, Signature, moved, needed

# Types that nest scalars in the outputs of a function.
SEQUENCES = (list, tuple, np.ndarray)

# Names that generated source uses itself.
RESERVED_NAMES = frozenset({'sin', 'cos', 'sqrt', 'tanh', 'fabs', 'minimum', 'maximum', 'out'})


class Scalar:
    """A symbolic number: arithmetic on it is recorded.

    NumPy object arrays of scalars work too: `numpy.sin`, `@` and `numpy.cross` end in the methods
        below.
    """

    __slots__ = ('graph', 'index')

    def __init__(self, graph: Graph, index: int) -> None:
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
        """How many scalars `pack` may take."""
        return self.graph.lanes

    def pack(self, values: Sequence[Any]) -> 'Scalar':
        """Return the vector of several scalars. What is done with it is done with each of them."""
        return Scalar(self.graph, self.graph.pack(nodes_of(self.graph, values)))

    def lane(self, k: int) -> 'Scalar':
        """Return the scalar in lane k of a vector; its scalars are in the last lanes."""
        return Scalar(self.graph, self.graph.lane(self.index, k))

    def sin(self) -> 'Scalar':
        """Return the sine."""
        return Scalar(self.graph, self.graph.function('sin', self.index))

    def cos(self) -> 'Scalar':
        """Return the cosine."""
        return Scalar(self.graph, self.graph.function('cos', self.index))

    def tanh(self) -> 'Scalar':
        """Return the hyperbolic tangent."""
        return Scalar(self.graph, self.graph.function('tanh', self.index))

    def sqrt(self) -> 'Scalar':
        """Return the square root; not a number below zero."""
        return Scalar(self.graph, self.graph.function('sqrt', self.index))

    def __abs__(self) -> 'Scalar':
        return Scalar(self.graph, self.graph.function('fabs', self.index))

    def minimum(self, other: Any) -> 'Scalar':
        """Return the smaller of two scalars; not a number if one of them is not."""
        return self._record(functools.partial(self.graph.extremum, 'minimum'), self, other)

    def maximum(self, other: Any) -> 'Scalar':
        """Return the larger of two scalars; not a number if one of them is not."""
        return self._record(functools.partial(self.graph.extremum, 'maximum'), self, other)

    def _record(self, operation: Callable[[int, int], int], a: Any, b: Any) -> 'Scalar':
        i, j = index_of(self.graph, a), index_of(self.graph, b)
        if i is None or j is None:
            return NotImplemented  # type: ignore[no-any-return]
        return Scalar(self.graph, operation(i, j))

    def _no_value(self, *_: Any) -> NoReturn:
        raise TraceError(
            'a recorded scalar has no value: a branch, a comparison, float() or math.sin() cannot '
            'depend on it (decide by what is known when the program is made; write numpy.sin(x))'
        )

    __bool__ = __float__ = __int__ = __index__ = _no_value
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _no_value
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f'<Scalar {self.index}: {self.graph.nodes[self.index]}>'


def index_of(graph: Graph, operand: Any) -> int | None:
    """Return the node of a scalar or of a number, None for anything else."""
    if isinstance(operand, Scalar):
        if operand.graph is not graph:
            raise TraceError('scalars of two different recordings meet in one operation')
        return operand.index
    return graph.constant(float(operand)) if isinstance(operand, numbers.Real) else None


def nodes_of(graph: Graph, value: Any) -> list[int]:
    """Return the nodes of all scalars and numbers in nested sequences, in C order."""
    nodes = []
    for entry in entries_of(value):
        index = index_of(graph, entry)
        if index is None:
            kind = type(entry).__name__
            raise TraceError(f'{entry!r} ({kind}) is neither scalar nor real number')
        nodes.append(index)
    return nodes


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
        vectors: record what the function does with several scalars alike, by `Scalar.pack`.
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
    values = by_name(name, function(*arguments), outputs)
    shapes = tuple((output, _shape(value)) for output, value in values.items())
    results = tuple(tuple(nodes_of(graph, value)) for value in values.values())
    return recorded(name, Signature(tuple(inputs.items()), shapes), graph, results)


def recorded(
    name: str, signature: Signature, graph: Graph, results: tuple[tuple[int, ...], ...]
) -> Program:
    """Return the program of what has been recorded, without the nodes that no result needs."""
    whole = Program(name, signature, tuple(graph.nodes), results)
    live = needed(graph.nodes, (i for entries in results for i in entries))
    new = {old: place for place, old in enumerate(live)}
    return whole.renumbered((moved(graph.nodes[i], new) for i in live), new)


def by_name(program: str, returned: Any, outputs: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what a function returned, one output or a tuple of several, by names."""
    values = returned if isinstance(returned, tuple) else (returned,)
    if not values:
        raise TraceError(f'{program} returns no output')
    if outputs is None:
        several = [f'out{k}' for k in range(len(values))]
        outputs = several if isinstance(returned, tuple) else ['out']
    if len(outputs) != len(values):
        raise TraceError(
            f'{program} returns {len(values)} outputs, names are given for {list(outputs)}'
        )
    return dict(zip(outputs, values, strict=True))


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of nested sequences, all of one length at each depth."""
    if not isinstance(value, SEQUENCES):
        return ()
    shapes = {_shape(row) for row in value}
    if len(shapes) > 1:
        raise TraceError(f'an output is ragged: its rows have shapes {sorted(shapes)}')
    return (len(value), *(shapes.pop() if shapes else ()))


def entries_of(value: Any) -> Iterator[Any]:
    """Yield the entries of nested sequences in C order."""
    if not isinstance(value, SEQUENCES):
        yield value
        return
    for row in value:
        yield from entries_of(row)
