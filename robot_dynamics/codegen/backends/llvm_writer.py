# SPDX-License-Identifier: Apache-2.0
"""Write straight-line code in LLVM's assembly language, one instruction a line.

A value is named by text: `%v7`, or a constant such as `0x3FF0000000000000` (1.0, exactly). The
same calls write code for one double or, with more lanes, for a vector of them. Operations act on
all lanes alike, by IEEE 754, so every lane has the bits that code for one double would give.
"""

import itertools
import struct
from collections.abc import Iterator, Sequence


class Writer:
    """Collects the instructions of one function, whose first block is `start`."""

    def __init__(self, lanes: int, parent: 'Writer | None' = None) -> None:
        self.lanes = lanes
        self.type = self.vector('double')
        self.integers = self.vector('i64')
        self.lines: list[str] = parent.lines if parent else []
        self.intrinsics: set[str] = parent.intrinsics if parent else set()
        self._numbers: Iterator[int] = parent._numbers if parent else itertools.count()

    def begin_block(self, name: str) -> None:
        """Begin a block of instructions; the one before must have ended."""
        self.lines.append(f'{name}:')

    def new_block(self, name: str) -> str:
        """Return a name for a block that no other has."""
        return f'{name}{next(self._numbers)}'

    def allocate(self, count: int = 1) -> str:
        """Return the address of memory for values of the writer's type, on the stack."""
        name = f'%memory{next(self._numbers)}'
        self.lines.insert(
            self.lines.index('start:') + 1, f'  {name} = alloca {self.type}, i64 {count}, align 64'
        )
        return name

    def with_lanes(self, lanes: int) -> 'Writer':
        """Return a writer into the same function, for vectors of another width."""
        return Writer(lanes, self)

    def vector(self, element: str) -> str:
        """Return the type of `lanes` elements."""
        return element if self.lanes == 1 else f'<{self.lanes} x {element}>'

    def do(self, instruction: str) -> None:
        """Write an instruction without result."""
        self.lines.append(f'  {instruction}')

    def let(self, expression: str) -> str:
        """Write an instruction and return the name of its result."""
        name = f'%v{next(self._numbers)}'
        self.lines.append(f'  {name} = {expression}')
        return name

    def constant(self, value: float) -> str:
        """Return a double in every lane, given bit by bit."""
        (bits,) = struct.unpack('<Q', struct.pack('<d', value))
        return self._splat('double', f'0x{bits:016X}')

    def constants(self, values: Sequence[float]) -> str:
        """Return doubles lane by lane."""
        one = Writer(1)
        return '<' + ', '.join(f'double {one.constant(value)}' for value in values) + '>'

    def integer(self, value: int) -> str:
        """Return a 64-bit integer in every lane."""
        return self._splat('i64', str(value))

    def _splat(self, element: str, text: str) -> str:
        return text if self.lanes == 1 else f'splat ({element} {text})'

    def add(self, a: str, b: str) -> str:
        """Return a + b."""
        return self.let(f'fadd {self.type} {a}, {b}')

    def sub(self, a: str, b: str) -> str:
        """Return a - b."""
        return self.let(f'fsub {self.type} {a}, {b}')

    def mul(self, a: str, b: str) -> str:
        """Return a b."""
        return self.let(f'fmul {self.type} {a}, {b}')

    def div(self, a: str, b: str) -> str:
        """Return a / b."""
        return self.let(f'fdiv {self.type} {a}, {b}')

    def neg(self, a: str) -> str:
        """Return -a."""
        return self.let(f'fneg {self.type} {a}')

    def sqrt(self, a: str) -> str:
        """Return the square root of a."""
        return self.intrinsic('sqrt', a)

    def fabs(self, a: str) -> str:
        """Return |a|."""
        return self.intrinsic('fabs', a)

    def minimum(self, a: str, b: str) -> str:
        """Return the smaller of a and b; not a number if one of them is not."""
        return self.intrinsic('minimum', a, b)

    def maximum(self, a: str, b: str) -> str:
        """Return the larger of a and b; not a number if one of them is not."""
        return self.intrinsic('maximum', a, b)

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a b + c with one rounding."""
        return self.intrinsic('fma', a, b, c)

    def intrinsic(self, function: str, *arguments: str) -> str:
        """Return llvm.function(arguments), all of them lanes of doubles."""
        name = f'@llvm.{function}.{"" if self.lanes == 1 else f"v{self.lanes}"}f64'
        self.intrinsics.add(
            f'declare {self.type} {name}({", ".join([self.type] * len(arguments))})'
        )
        return self.let(
            f'call {self.type} {name}({", ".join(f"{self.type} {a}" for a in arguments)})'
        )

    def select(self, condition: str, a: str, b: str) -> str:
        """Return a where the condition holds, else b."""
        return self.let(
            f'select {self.vector("i1")} {condition}, {self.type} {a}, {self.type} {b}'
        )

    def bits(self, a: str) -> str:
        """Return the bits of a double as an integer."""
        return self.let(f'bitcast {self.type} {a} to {self.integers}')

    def from_bits(self, a: str) -> str:
        """Return the double that has these bits."""
        return self.let(f'bitcast {self.integers} {a} to {self.type}')

    def shuffle(self, a: str, b: str, picks: Sequence[int]) -> str:
        """Return lanes picked from a (0, 1, ...) and b (lanes, lanes + 1, ...)."""
        mask = ', '.join(f'i32 {pick}' for pick in picks)
        return self.let(
            f'shufflevector {self.type} {a}, {self.type} {b}, <{len(picks)} x i32> <{mask}>'
        )

    def insert(self, vector: str, lane: int, value: str) -> str:
        """Return a vector with a double in one lane, the others as they are."""
        return self.let(f'insertelement {self.type} {vector}, double {value}, i32 {lane}')

    def extract(self, vector: str, lane: int) -> str:
        """Return the double in a lane."""
        return self.let(f'extractelement {self.type} {vector}, i32 {lane}')

    def spread(self, value: str) -> str:
        """Return a double in every lane."""
        return self._spread(self.type, f'double {value}')

    def spread_integer(self, value: str) -> str:
        """Return a 64-bit integer in every lane."""
        return self._spread(self.integers, f'i64 {value}')

    def _spread(self, kind: str, element: str) -> str:
        first = self.let(f'insertelement {kind} poison, {element}, i32 0')
        mask = f'<{self.lanes} x i32> zeroinitializer'
        return self.let(f'shufflevector {kind} {first}, {kind} poison, {mask}')

    def _mask(self, count: int, first: int = 0) -> str:
        lanes = ', '.join(f'i1 {int(0 <= lane - first < count)}' for lane in range(self.lanes))
        return f'<{lanes}>'

    def load(self, pointer: str, count: int | None = None) -> str:
        """Return the doubles at an address; with `count`, so many are read and the rest is 0."""
        if count is None or count == self.lanes:
            return self.let(f'load {self.type}, ptr {pointer}, align 8')
        return self.load_where(self._mask(count), pointer)

    def store(self, value: str, pointer: str, count: int | None = None, first: int = 0) -> None:
        """Write the doubles to an address; only `count` of them, from lane `first` on."""
        if count is None or count == self.lanes:
            return self.do(f'store {self.type} {value}, ptr {pointer}, align 8')
        return self.store_where(self._mask(count, first), value, pointer)

    def prefetch(self, pointer: str) -> None:
        """Prefetch the memory at an address, which is written to soon."""
        self.intrinsics.add('declare void @llvm.prefetch.p0(ptr, i32, i32, i32)')
        self.do(f'call void @llvm.prefetch.p0(ptr {pointer}, i32 1, i32 3, i32 1)')

    def load_where(self, condition: str, pointer: str) -> str:
        """Return the doubles at an address for whose lanes the condition holds, else 0."""
        name, mask = f'@llvm.masked.load.v{self.lanes}f64.p0', self.vector('i1')
        self.intrinsics.add(f'declare {self.type} {name}(ptr, i32, {mask}, {self.type})')
        arguments = f'ptr {pointer}, i32 8, {mask} {condition}, {self.type} zeroinitializer'
        return self.let(f'call {self.type} {name}({arguments})')

    def store_where(self, condition: str, value: str, pointer: str) -> None:
        """Write the doubles for whose lanes the condition holds to an address."""
        name, mask = f'@llvm.masked.store.v{self.lanes}f64.p0', self.vector('i1')
        self.intrinsics.add(f'declare void {name}({self.type}, ptr, i32, {mask})')
        self.do(f'call void {name}({self.type} {value}, ptr {pointer}, i32 8, {mask} {condition})')

    def element(self, pointer: str, index: int | str) -> str:
        """Return the address of a double in an array."""
        return self.let(f'getelementptr double, ptr {pointer}, i64 {index}')


def counting(
    w: Writer, begin: object, end: object, by: int = 1, sums: list[str] | None = None
) -> Iterator[str]:
    """Write a loop and yield its counter, once.

    The instructions written inside a `for` over this generator are the body of the loop. It may
    replace entries of `sums`, values of the writer, by their next values; after the loop these are
    the last ones.
    """
    before, body, latch, done = map(w.new_block, ('before', 'body', 'latch', 'done'))
    i, following, go_on = f'%{body}.i', f'%{body}.next', f'icmp {"slt" if by > 0 else "sgt"} i64'
    sums = [] if sums is None else sums
    first, names = list(sums), [f'%{body}.sum{k}' for k in range(len(sums))]

    def merge(ending: str) -> None:
        for start, name in zip(first, names, strict=True):
            ends = f'[ {start}, %{before} ], [ {name}.next, %{latch} ]'
            w.do(f'{name}{ending} = phi {w.type} {ends}')
        sums[:] = [f'{name}{ending}' for name in names]

    w.do(f'br label %{before}')
    w.begin_block(before)
    w.do(f'br i1 {w.let(f"{go_on} {begin}, {end}")}, label %{body}, label %{done}')
    w.begin_block(body)
    w.do(f'{i} = phi i64 [ {begin}, %{before} ], [ {following}, %{latch} ]')
    merge('')
    yield i
    w.do(f'br label %{latch}')
    w.begin_block(latch)
    for name, value in zip(names, sums, strict=True):
        w.do(f'{name}.next = bitcast {w.type} {value} to {w.type}')
    w.do(f'{following} = add i64 {i}, {by}')
    w.do(f'br i1 {w.let(f"{go_on} {following}, {end}")}, label %{body}, label %{done}')
    w.begin_block(done)
    merge('.end')


def within(w: Writer, i: str, end: object) -> str:
    """Return for each lane whether i + lane < end."""
    steps = ', '.join(f'i64 {lane}' for lane in range(w.lanes))
    places = w.let(f'add {w.integers} {w.spread_integer(i)}, <{steps}>')
    return w.let(f'icmp slt {w.integers} {places}, {w.spread_integer(str(end))}')
