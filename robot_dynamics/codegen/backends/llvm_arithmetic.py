# SPDX-License-Identifier: Apache-2.0
"""The nodes of a program in LLVM's language.

In the kernel of one sample a scalar is a double, a vector of the program (see `trace`) a vector of
LLVM's. Where there is a sample in each lane, scalars are LLVM's vectors, and the program has none.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from robot_dynamics.codegen.backends.llvm_elementary import sincos, tanh
from robot_dynamics.codegen.backends.llvm_writer import Writer
from robot_dynamics.codegen.tracing.program import LANES, Node, Program, needed, operands, sizes

# Elementary functions and their writers. The kernel of one sample computes several arguments at
# once. Of at most eight, four in a vector: the first four results are ready earlier.
ELEMENTARY: dict[tuple[str, ...], Callable[[Writer, str], tuple[str, ...]]] = {
    ('sin', 'cos'): sincos,
    ('tanh',): tanh,
}
WIDEST = 8

# Operations in one block of instructions: compiling takes time quadratic in it.
BLOCK = 1000


class Arithmetic:
    """Writes each node once."""

    def __init__(self, w: Writer, program: Program, load: Callable[[str, int], str]) -> None:
        self.w = w
        self.nodes = program.nodes
        self.values: dict[int, str] = {}
        self._load = load
        self._fed_back = dict(program.signature.inputs).keys() & dict(program.signature.outputs)
        self._sizes = sizes(program.nodes)
        self._vector = w.with_lanes(LANES)
        self._in_all_lanes: dict[int, str] = {}
        self._elementary: dict[tuple[str, int], str] = {}
        self._count = 0

    def evaluate(self, indices: Iterable[int]) -> None:
        """Write nodes, given in order of evaluation."""
        for index in indices:
            # Lanes are extracted only if they are needed alone: see `store` and `_pack`.
            if index not in self.values and self.nodes[index][0] != 'lane':
                self.values[index] = self._write(index, self.nodes[index])
                self._count += 1
                if self._count % BLOCK == 0:
                    part = self.w.new_block('part')
                    self.w.do(f'br label %{part}')
                    self.w.begin_block(part)

    def value(self, index: int) -> str:
        """Return the value of a node that has been evaluated."""
        if index not in self.values:
            _, source, lane = self.nodes[index]
            self.values[index] = self._vector.extract(self.values[source], lane)
        return self.values[index]

    def _write(self, index: int, node: Node) -> str:
        op = node[0]
        if op == 'input':
            return self._load(node[1], node[2])
        if op == 'constant':
            return self.w.constant(node[1])
        if op == 'pack':
            return self._pack(node[1:])
        wide = self._sizes[index] > 1
        w = self._vector if wide else self.w
        for functions, write in ELEMENTARY.items():
            if op in functions:
                if (op, node[1]) not in self._elementary:
                    self._remember(functions, node[1], write(w, self.value(node[1])))
                return self._elementary[op, node[1]]
        value: str = getattr(w, op)(
            *(self._as_vector(i) if wide else self.value(i) for i in node[1:])
        )
        return value

    def _as_vector(self, index: int) -> str:
        """Return a node as a vector: a scalar is the same in all lanes."""
        if self._sizes[index] > 1:
            return self.values[index]
        if index not in self._in_all_lanes:
            op, *value = self.nodes[index]
            self._in_all_lanes[index] = (
                self._vector.constant(*value)
                if op == 'constant'
                else self._vector.spread(self.value(index))
            )
        return self._in_all_lanes[index]

    def _pack(self, entries: Sequence[int]) -> str:
        """Write a vector of nodes, starting from the vector that has most of them in place."""
        places = list(enumerate(entries, LANES - len(entries)))
        lanes = [(self.nodes[i], k) for k, i in places if self.nodes[i][0] == 'lane']
        in_place = Counter(source for (_, source, lane), k in lanes if lane == k)
        value, source = 'zeroinitializer', None
        if in_place:
            ((source, _),) = in_place.most_common(1)
            value = self.values[source]
        for k, i in places:
            if self.nodes[i] != ('lane', source, k):
                value = self._vector.insert(value, k, self.value(i))
        return value

    def _remember(self, functions: Sequence[str], argument: int, results: Sequence[str]) -> None:
        self._elementary.update(
            ((f, argument), result) for f, result in zip(functions, results, strict=True)
        )

    def store(self, array: str, entries: Sequence[int]) -> None:
        """Store values of nodes in an array: neighbouring lanes, and equal constants, together."""
        for begin, count in self._runs(entries):
            op, *rest = self.nodes[entries[begin]]
            if count == 1:
                self.w.store(self.value(entries[begin]), self.w.element(array, begin))
            elif op == 'lane':
                source, first = rest
                pointer = self.w.element(array, begin - first)
                self._vector.store(self.values[source], pointer, count, first)
            else:
                number = self._vector.constant(*rest)
                for place in range(begin, begin + count, LANES):
                    some = min(LANES, begin + count - place)
                    self._vector.store(number, self.w.element(array, place), some)

    def _runs(self, entries: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield begin and length of runs of neighbouring lanes of a vector, or equal constants."""

        def run(place: int) -> tuple[object, ...]:
            op, *rest = self.nodes[entries[place]]
            if op == 'lane':
                return op, rest[0], rest[1] - place
            return (op, *rest) if op == 'constant' else (op, place)

        for _, places in itertools.groupby(range(len(entries)), run):
            begin, *others = places
            yield begin, 1 + len(others)

    def evaluate_together(self, group: Sequence[int]) -> None:
        """Write elementary functions of several arguments in the lanes of vectors."""
        self.evaluate(needed(self.nodes, [self.nodes[i][1] for i in group]))
        for functions, write in ELEMENTARY.items():
            arguments = sorted(
                {self.nodes[i][1] for i in group if self.nodes[i][0] in functions},
                key=lambda i: (shifted_input(self.nodes, i) or ('', i))[:2],
            )
            if len(arguments) < 2:
                continue
            together = WIDEST if len(arguments) > WIDEST else WIDEST // 2
            for begin in range(0, len(arguments), together):
                chunk = arguments[begin : begin + together]
                wide = self.w.with_lanes(max(2, 1 << (len(chunk) - 1).bit_length()))
                results = [
                    self._lanes(wide, vector, len(chunk))
                    for vector in write(wide, self._gather(wide, chunk))
                ]
                for argument, *values in zip(chunk, *results, strict=True):
                    self._remember(functions, argument, values)

    def _gather(self, wide: Writer, arguments: Sequence[int]) -> str:
        """Return a vector of values: one load if they are neighbouring inputs plus constants.

        Inputs that are outputs, too, have often just been stored one by one, and a load of several
        would wait until these stores are complete.
        """
        terms = [shifted_input(self.nodes, i) for i in arguments]
        if all(terms):
            names, places, shifts = zip(*terms, strict=True)
            adjacent = places == tuple(range(places[0], places[0] + len(places)))
            if len(set(names)) == 1 and adjacent and names[0] not in self._fed_back:
                vector = wide.load(self.w.element(f'%in.{names[0]}', places[0]), len(places))
                # Adding -0.0 changes nothing, not even the sign of a zero.
                padded = [*shifts, *([-0.0] * (wide.lanes - len(shifts)))]
                return wide.add(vector, wide.constants(padded)) if any(shifts) else vector
        vector = 'zeroinitializer'
        for lane, argument in enumerate(arguments):
            vector = wide.insert(vector, lane, self.value(argument))
        return vector

    def _lanes(self, wide: Writer, vector: str, count: int) -> list[str]:
        """Return the first lanes of a vector.

        Two are taken from the register. Reading the others from memory beats extracting them.
        """
        lanes = [wide.extract(vector, lane) for lane in range(min(2, count))]
        if count > 2:
            pointer = wide.allocate()
            wide.store(vector, pointer)
            lanes += [self.w.load(self.w.element(pointer, lane)) for lane in range(2, count)]
        return lanes


def elementary_groups(program: Program) -> list[list[int]]:
    """Return the elementary functions in groups: those of a group do not depend on each other."""
    names = [name for functions in ELEMENTARY for name in functions]
    depth: list[int] = []
    groups: dict[int, list[int]] = {}
    for index, (node, size) in enumerate(zip(program.nodes, sizes(program.nodes), strict=True)):
        depth.append(max((depth[i] for i in operands(node)), default=0))
        if node[0] in names and size == 1:
            depth[index] += 1
            groups.setdefault(depth[index], []).append(index)
    return [groups[level] for level in sorted(groups)]


def shifted_input(nodes: Sequence[Node], index: int) -> tuple[str, int, float] | None:
    """Return (name, place, constant) if a node is an input, or an input plus a constant."""
    node, shift = nodes[index], -0.0
    if node[0] == 'add' and nodes[node[2]][0] == 'constant':
        node, shift = nodes[node[1]], nodes[node[2]][1]
    return (node[1], node[2], shift) if node[0] == 'input' else None
