# SPDX-License-Identifier: Apache-2.0
"""Programs as functions in C99 that are also C++17, with no dependency but the compiler.

    static inline void NAME_program(const double *q, ..., double *out);

Vectors of a program are scalarized. The operations, their order and the fusion of products and
sums are those of the kernels in machine code: with fused multiply-add in hardware, and a compiler
that fuses nothing by itself (-ffp-contract=off), the results have the same bits.

Nothing is allocated, and no branch depends on a value except inside minimum and maximum. The
functions of one header share a prefix, so that headers can be used together.

Sine and cosine are those of `llvm_elementary` where there is a fused multiply-add. Without one,
and for `float`, the products of the first part of pi/2 are exact because it has few bits (Cody and
Waite 1980, chapter 8), which limits the angle more; see `Dialect.limits`. On x86-64 without
options for the processor, compilers do not vectorize the loop over the angles: there it is written
with vectors.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from robot_dynamics.codegen.backends.llvm_arithmetic import ELEMENTARY, elementary_groups
from robot_dynamics.codegen.backends.llvm_elementary import (
    COSINE,
    EXPONENTIAL,
    HALF_PI,
    HALF_PI_REST,
    LARGEST_ANGLE,
    LN2,
    LN2_REST,
    SINE,
)
from robot_dynamics.codegen.backends.scalarize import scalarize
from robot_dynamics.codegen.loops.loop_program import (
    CARRIED,
    CARRIER,
    OWN,
    PARENT,
    ROW,
    TABLE,
    Equations,
    LoopProgram,
    Pairs,
    Rows,
    RowStep,
)
from robot_dynamics.codegen.tracing.program import Program, Signature, needed
from robot_dynamics.codegen.tracing.sums import fused

BINARY = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/'}


class Format(NamedTuple):
    """A type of floating-point numbers, and what its elementary functions depend on."""

    suffix: str  # of constants and functions of math.h
    bits: int  # of an integer of the same size
    mantissa: int  # stored bits
    part: int  # significant bits of the first part of pi/2
    lanes: int  # in 16 bytes
    terms: int  # of the polynomials of sine and cosine
    exponential: int  # likewise
    angle: float  # the largest, rad, without fused multiply-add
    large: float  # tanh is 1 from here on


FORMATS = {
    'double': Format('', 64, 52, 33, 2, 6, 13, 2.0**20, 22.0),
    'float': Format('f', 32, 23, 12, 4, 4, 7, 2.0**10, 10.0),
}
LARGEST_FLOAT = (2.0 - 2.0**-23) * 2.0**127
LARGEST = {'double': sys.float_info.max, 'float': LARGEST_FLOAT}


@dataclass(frozen=True)
class Dialect:
    """How the functions of one header are written.

    Attributes:
        prefix: begins all their names; an identifier.
        scalar: 'double' or 'float'.
    """

    prefix: str
    scalar: str = 'double'

    inline: ClassVar[str] = 'static inline'

    @property
    def head(self) -> str:
        """Headers, checks of the compiler, and the macro of fused multiply-add, as a template."""
        return HEAD

    @property
    def format(self) -> Format:
        """The format of the scalars."""
        return FORMATS[self.scalar]

    @property
    def limits(self) -> tuple[float, float]:
        """The largest angles [rad] with and without fused multiply-add; beyond: not a number."""
        fine = self.format.angle
        return (LARGEST_ANGLE if self.scalar == 'double' else fine), fine

    def macro(self, name: str) -> str:
        """Return the name of a macro."""
        return f'{self.prefix.upper()}_{name}'

    def constant(self, value: float) -> str:
        """Return a number of the scalars' type; decimal, and exact.

        Raises:
            OverflowError: `float` has no such number.
        """
        if self.scalar == 'float' and abs(value) > LARGEST_FLOAT:
            raise OverflowError(f'{value!r} is too large for float')
        text = repr(value) + self.format.suffix
        return f'({text})' if value < 0 else text

    def function(self, program: Program | LoopProgram) -> str:
        """Return the definition of the function of a program."""
        head = self.declaration(program.name, program.signature)
        if isinstance(program, LoopProgram):
            lines = _Loops(self).written(program)
        else:
            lines = _StraightLine(self).written(program)
        return '\n'.join([f'{head} {{', *lines, '}'])

    def declaration(self, name: str, signature: Signature) -> str:
        """Return the head of a function. Arguments must not overlap."""
        own = f'{self.scalar} *{self.macro("RESTRICT")}'
        arguments = [f'const {own} {name}' for name, _ in signature.inputs]
        arguments += [f'{own} {name}' for name in output_names(signature)]
        return f'{self.inline} void {self.prefix}_{name}(\n    ' + ',\n    '.join(arguments) + ')'

    def beginning(self) -> str:
        """Return what the functions need: checks of the compiler, macros, elementary functions."""
        return _elementary(self)

    def end(self) -> str:
        """Return what follows the functions."""
        return '\n'.join(
            f'#undef {self.macro(name)}'
            for name in ('FMA', 'RESTRICT', 'FUSED', 'ANGLES', 'IN_ORDER')
        )


def output_names(signature: Signature) -> list[str]:
    """Return the names of the results in C; the next value of an input is `next_...`."""
    inputs = dict(signature.inputs)
    return [f'next_{name}' if name in inputs else name for name, _ in signature.outputs]


class _Body:
    """Lines of a function's body, and the names of nodes."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.lines: list[str] = []
        self._depth = 1
        self._numbers = itertools.count()

    def do(self, line: str) -> None:
        """Write a line."""
        self.lines.append('    ' * self._depth + line)

    def begin(self, line: str) -> None:
        """Write a line that begins a block."""
        self.do(f'{line} {{')
        self._depth += 1

    def end(self) -> None:
        """End a block."""
        self._depth -= 1
        self.do('}')

    def let(self, expression: str, kind: str = '') -> str:
        """Write a constant variable and return its name."""
        name = f'v{next(self._numbers)}'
        self.do(f'const {kind or self.dialect.scalar} {name} = {expression};')
        return name

    def evaluate(
        self,
        program: Program,
        load: Callable[[str, int | str], str],
        computed: Callable[[int, str], None] = lambda index, value: None,
    ) -> dict[int, str]:
        """Write the nodes of a program without vectors and return their names.

        Args:
            program: what is written.
            load: returns the expression of an input.
            computed: called with each node that is not elementary, and its name.
        """
        values: dict[int, str] = {}

        def named(op: str, *rest: Any) -> str:
            if op == 'input':
                return load(*rest)
            if op == 'constant':
                return self.dialect.constant(rest[0])
            return self.let(self._expression(op, [values[i] for i in rest]))

        def write(indices: Iterable[int]) -> None:
            for index in indices:
                if index not in values:
                    values[index] = named(*program.nodes[index])
                computed(index, values[index])

        # Without operations on zeros, scalarized vectors may leave others unused.
        live = needed(program.nodes, (i for entries in program.results for i in entries))
        for group in elementary_groups(program):
            used = sorted(set(group).intersection(live))
            write(needed(program.nodes, [program.nodes[i][1] for i in used]))
            self._elementary(program, used, values)
        write(live)
        return values

    def _expression(self, op: str, operands: Sequence[str]) -> str:
        if op in BINARY:
            return f' {BINARY[op]} '.join(operands)
        if op == 'neg':
            return f'-{operands[0]}'
        function = {
            'fma': self.dialect.macro('FMA'),
            'sqrt': f'sqrt{self.dialect.format.suffix}',
        }.get(op, f'{self.dialect.prefix}_{op}_')
        return f'{function}({", ".join(operands)})'

    def _elementary(self, program: Program, group: Sequence[int], values: dict[int, str]) -> None:
        """Write elementary functions of several arguments, in loops that compilers vectorize."""
        for functions in ELEMENTARY:
            mine = [i for i in group if program.nodes[i][0] in functions]
            arguments = sorted({program.nodes[i][1] for i in mine})
            if not arguments:
                continue
            lanes, scalar = self.dialect.format.lanes, self.dialect.scalar
            array, count = f'a{next(self._numbers)}', len(arguments)
            room = -(-count // lanes) * lanes
            listed = ', '.join(values[i] for i in arguments)
            self.do(f'const {scalar} {array}[{room}] = {{{listed}}};')
            results = [f'{function}_{array}' for function in functions]
            self.do(f'{scalar} {", ".join(f"{name}[{room}]" for name in results)};')
            name = f'{self.dialect.prefix}_{"".join(functions)}_'
            targets = ', '.join(f'{result} + i' for result in results)
            each = f'for (int i = 0; i < {count}; ++i)'
            if 'sin' in functions:
                each = f'{self.dialect.macro("ANGLES")}({count})'
            self.do(f'{each} {name}({array} + i, {targets});')
            for i in mine:
                op, argument = program.nodes[i]
                values[i] = f'{op}_{array}[{arguments.index(argument)}]'


class _StraightLine(_Body):
    """The body of a straight-line program."""

    def written(self, program: Program) -> list[str]:
        """Return the lines. A result is stored as soon as it is computed: its register is free."""
        program = scalarize(fused(program))
        places: dict[int, list[str]] = {}
        for name, entries in zip(output_names(program.signature), program.results, strict=True):
            for place, index in enumerate(entries):
                places.setdefault(index, []).append(f'{name}[{place}]')

        def store(index: int, value: str) -> None:
            for place in places.pop(index, ()):
                self.do(f'{place} = {value};')

        self.evaluate(program, lambda name, i: f'{name}[{i}]', store)
        used = {node[1] for node in program.nodes if node[0] == 'input'}
        for name, _ in program.signature.inputs:
            if name not in used:
                self.do(f'(void){name};')
        return self.lines


class _Loops(_Body):
    """The body of a loop program. The values of a column are neighbours on the stack."""

    def written(self, program: LoopProgram) -> list[str]:
        """Return the lines."""
        n, scalar, rows = len(program.rows), self.dialect.scalar, program.rows
        columns = ',\n        '.join(
            '{' + ', '.join(map(self.dialect.constant, column)) + '}' for column in program.table
        )
        if program.table:
            size = f'[{len(program.table)}][{n}]'
            self.do(f'static const {scalar} table{size} = {{\n        {columns}}};')
        self._integers('kind', rows.kinds)
        self._integers('parent', rows.parents)
        if program.pairs:
            for name, related in ((CARRIER, rows.carriers), (CARRIED, rows.carried)):
                runs = [Rows.runs(related(row)) for row in range(n)]
                self._integers(f'{name}_first', [0, *itertools.accumulate(map(len, runs))])
                ends = [end for run in runs for pair in run for end in pair]
                self._integers(f'{name}_runs', ends or [0])
        self.do(f'{scalar} memory[{program.columns}][{n}];')
        for loop in program.loops:
            down = f'int row = {n - 1}; row >= 0; --row', f'int row = 0; row < {n}; ++row'
            self.begin(f'for ({down[not loop.inward]})')
            self.begin('switch (kind[row])')
            for kind, step in enumerate(loop.steps):
                if step.stores:
                    self.begin(f'case {kind}:')
                    self._step(step)
                    self.do('break;')
                    self.end()
            self.do('default: break;')
            self.end()
            self.end()
        if program.pairs:
            self._pairs(program.pairs, n)
        if program.equations:
            self._solve(program.equations, n)
        return self.lines

    def _integers(self, name: str, values: Sequence[int]) -> None:
        listed = ', '.join(map(str, values))
        self.do(f'static const short {name}[{len(values)}] = {{{listed}}};')

    def _step(self, step: RowStep) -> None:
        """Write a step at a row."""

        def load(where: str, i: int | str) -> str:
            if where == TABLE:
                return f'table[{i}][row]'
            if where in (OWN, PARENT):
                return self.let(_memory(where, int(i)))
            return f'{where}[{"row" if i == ROW else i}]'

        program = fused(step.program)
        values = self.evaluate(program, load)
        for store, index in zip(step.stores, program.results[0], strict=True):
            if store.where == OWN:
                self.do(f'{_memory(OWN, store.column)} = {values[index]};')
            elif store.where == PARENT:
                self.do(f'{_memory(PARENT, store.column)} += {values[index]};')
            else:
                self.do(f'{store.where}[row] = {values[index]};')

    def _pairs(self, pairs: Pairs, n: int) -> None:
        """Write the matrices, row by row."""
        self.begin(f'for (int row = 0; row < {n}; ++row)')
        self.do(f'const int line = row * {n};')
        self.begin(f'for (int other = 0; other < {n}; ++other)')
        for name in pairs.outputs:
            self.do(f'{name}[line + other] = {self.dialect.constant(0.0)};')
        self.end()
        for name, column in zip(pairs.outputs, pairs.diagonal, strict=True):
            self.do(f'{name}[line + row] = {_memory(OWN, column)};')
        for half, moving in ((pairs.below, CARRIER), (pairs.above, CARRIED)):
            first = f'{moving}_first'
            self.begin(f'for (int run = {first}[row]; run < {first}[row + 1]; ++run)')
            begin, end = f'{moving}_runs[2 * run]', f'{moving}_runs[2 * run + 1]'
            self.begin(f'for (int other = {begin}; other < {end}; ++other)')

            def load(where: str, i: int | str, moving: str = moving) -> str:
                if where in (CARRIER, CARRIED):
                    return f'memory[{i}][{"other" if where == moving else "row"}]'
                return f'{where}[{i}]'

            program = fused(half)
            values = self.evaluate(program, load)
            for name, index in zip(pairs.outputs, program.results[0], strict=True):
                self.do(f'{name}[line + other] = {values[index]};')
            self.end()
            self.end()
        self.end()

    def _solve(self, equations: Equations, n: int) -> None:
        """Write X of M X = B, and M^-1, in the same order as `llvm_loops`."""
        scalar, number, M = self.dialect.scalar, self.dialect.constant, equations.inverse
        sides = (*equations.solutions, 'unit')
        up, down = (
            f'for (int row = {n - 1}; row >= 0; --row)',
            f'for (int row = 0; row < {n}; ++row)',
        )
        self.do(f'{scalar} unit[{n * n}], less_l[{n * n}], pivot[{n}];')
        self.begin(up)
        self._columns([f'unit[row * {n} + i] = i == row ? {number(1.0)} : {number(0.0)};'], n)
        self._combine(CARRIED, (M, *sides), n)
        self.do(f'pivot[row] = {number(1.0)} / {M}[row * {n} + row];')
        self._columns([f'less_l[row * {n} + i] = -(pivot[row] * {M}[row * {n} + i]);'], n)
        self.end()
        self.begin(down)
        self._columns([f'{x}[row * {n} + i] = pivot[row] * {x}[row * {n} + i];' for x in sides], n)
        self._combine(CARRIER, sides, n)
        self.end()
        self.begin(down)
        self.begin('for (int i = 0; i <= row; ++i)')
        self.do(f'{M}[row * {n} + i] = {M}[i * {n} + row] = unit[row * {n} + i];')
        self.end()
        self.end()

    def _combine(self, moving: str, names: Sequence[str], n: int) -> None:
        """Add multiples of the rows that are related to a row of matrices."""
        first, ends = f'{moving}_first', f'{moving}_runs[2 * run'
        self.begin(f'for (int run = {first}[row]; run < {first}[row + 1]; ++run)')
        self.begin(f'for (int other = {ends}]; other < {ends} + 1]; ++other)')
        place = f'row * {n} + other' if moving == CARRIER else f'other * {n} + row'
        self.do(f'const {self.dialect.scalar} factor = less_l[{place}];')
        fma = self.dialect.macro('FMA')
        self._columns(
            [
                f'{x}[row * {n} + i] = {fma}(factor, {x}[other * {n} + i], {x}[row * {n} + i]);'
                for x in names
            ],
            n,
        )
        self.end()
        self.end()

    def _columns(self, statements: Sequence[str], n: int) -> None:
        """Write a loop over the columns of matrices for each statement."""
        for statement in statements:
            self.do(f'for (int i = 0; i < {n}; ++i) {statement}')


def _memory(where: str, column: int) -> str:
    return f'memory[{column}][{"row" if where == OWN else "parent[row]"}]'


def _parts_of_half_pi(bits: int) -> tuple[float, float]:
    """Return two numbers whose sum is pi/2, the first with so many significant bits."""
    mantissa, exponent = math.frexp(HALF_PI)
    first = math.ldexp(math.floor(mantissa * 2.0**bits), exponent - bits)
    return first, HALF_PI - first + HALF_PI_REST


def _estrin(
    d: Dialect, coefficients: Sequence[float], x: str, name: str, kind: str
) -> tuple[list[str], str]:
    """Return the lines of a polynomial, computed as by `llvm_elementary`, and its name."""
    lines, terms, count = [], [d.constant(c) for c in coefficients], itertools.count()
    while len(terms) > 1:
        following = []
        for a, b in zip(terms[::2], terms[1::2], strict=False):
            following.append(f'{name}{next(count)}')
            lines.append(f'const {kind} {following[-1]} = {d.macro("FMA")}({b}, {x}, {a});')
        terms = [*following, *(terms[-1:] if len(terms) % 2 else [])]
        if len(terms) > 1:
            lines.append(f'const {kind} {name}x{len(terms)} = {x} * {x};')
            x = f'{name}x{len(terms)}'
    return lines, terms[0]


def _filled(template: str, *values: Mapping[str, object]) -> str:
    """Return a template with @NAME@ replaced, in the order of the values."""
    for name, value in itertools.chain.from_iterable(each.items() for each in values):
        template = template.replace(f'@{name}@', str(value))
    return template


def _elementary(d: Dialect) -> str:
    """Return the beginning of a header: checks, macros, elementary functions."""
    f, k = d.format, d.constant
    numbers = {'zero': k(0.0), 'half': k(0.5), 'one': k(1.0), 'two': k(2.0)}
    numbers['rounder'] = k(1.5 * 2.0**f.mantissa)
    return _filled(
        d.head + TEMPLATE,
        # First, as other names are in them.
        {
            'hardware': SOFTWARE_DOUBLE if not f.suffix else '',
            'few_bits': FEW_BITS if not f.suffix else '1',
        },
        _types(d),
        numbers,
        _sincos(d),
        _tanh(d),
    )


def _types(d: Dialect) -> dict[str, object]:
    """Return the values of a template that name functions, macros and types."""
    f = d.format
    return {
        'inline': d.inline,
        'P': d.prefix.upper(),
        'p': d.prefix,
        'real': d.scalar,
        'f': f.suffix,
        'F': f.suffix.upper(),
        'bits': f.bits,
        'lanes': f.lanes,
    }


def _sincos(d: Dialect) -> dict[str, object]:
    """Return the values of a template that sine and cosine need."""
    f, k, (fma_angle, angle), largest = d.format, d.constant, d.limits, LARGEST[d.scalar]
    angles = f'{d.prefix}_angles_'
    sine, s = _estrin(d, SINE[: f.terms], 'z', 's', angles)
    cosine, c = _estrin(d, COSINE[: f.terms], 'z', 'c', angles)
    parts = _parts_of_half_pi(f.part)
    return {
        'fma_overflow': k(largest / fma_angle),
        'overflow': k(largest / angle),
        'two_over_pi': k(2.0 / math.pi),
        'half_pi': k(-HALF_PI),
        'rest': k(-HALF_PI_REST),
        'part0': k(-parts[0]),
        'part1': k(-parts[1]),
        'sine': '\n    '.join(sine),
        's_of_z': s,
        'cosine': '\n    '.join(cosine),
        'c_of_z': c,
        'sign': f.bits - 2,
    }


def _tanh(d: Dialect) -> dict[str, object]:
    """Return the values of a template that the hyperbolic tangent needs."""
    f, k = d.format, d.constant
    exponential, e = _estrin(d, EXPONENTIAL[: f.exponential], 'r', 'e', d.scalar)
    ln2 = LN2 if not f.suffix else math.floor(LN2 * 2.0**f.part) / 2.0**f.part
    return {
        'exponential': '\n    '.join(exponential),
        'e_of_r': e,
        'large': k(f.large),
        'one_over_ln2': k(1.0 / LN2),
        'ln2': k(-ln2),
        'ln2_rest': k(-(LN2 - ln2 + LN2_REST)),
        'bias': (1 << (f.bits - f.mantissa - 2)) - 1,
        'mantissa': f.mantissa,
    }


SOFTWARE_DOUBLE = """
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && \\
    !(defined(__ARM_FP) && (__ARM_FP & 8))
#error "this processor has no double in hardware: export with --scalar float"
#endif"""

# Where the first part of pi/2 has few bits; with `float` everywhere.
FEW_BITS = '!defined(@P@_FUSED)'

HEAD = """\
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \\
    defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST)
#error "compile without -ffast-math: it removes the rounding of angles, and torques are wrong"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD > 0
#error "compile for registers of the scalars' precision, such as with -mfpmath=sse -msse2"
#endif@hardware@

#if defined(FP_FAST_FMA@F@) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define @P@_FUSED 1
#if defined(__GNUC__)
#define @P@_FMA(a, b, c) __builtin_fma@f@(a, b, c)
#else
#define @P@_FMA(a, b, c) fma@f@(a, b, c)
#endif
#else
#define @P@_FMA(a, b, c) ((a) * (b) + (c))
#endif
"""

TEMPLATE = """
#if defined(__cplusplus) || defined(_MSC_VER)
#define @P@_RESTRICT __restrict
#else
#define @P@_RESTRICT restrict
#endif

@inline@ uint@bits@_t @p@_bits_(@real@ x) {
    uint@bits@_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

@inline@ @real@ @p@_from_bits_(uint@bits@_t bits) {
    @real@ x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

@inline@ @real@ @p@_fabs_(@real@ x) {
    return @p@_from_bits_(@p@_bits_(x) & (~(uint@bits@_t)0 >> 1));
}

/* Not a number if one of the two is not. */
@inline@ @real@ @p@_minimum_(@real@ a, @real@ b) {
    return a < b || a != a ? a : b;
}

@inline@ @real@ @p@_maximum_(@real@ a, @real@ b) {
    return a > b || a != a ? a : b;
}

/* clang has no macro of -fassociative-math, which removes the rounding of angles. */
#if defined(__clang__) && __clang_major__ > 12
#define @P@_IN_ORDER _Pragma("clang fp reassociate(off)")
#else
#define @P@_IN_ORDER
#endif

/* Without options for the processor, a vector of angles fills a register of SSE2. The loop is
   unrolled, so that results stay in registers. Elsewhere a vector is one angle. */
#if !defined(@P@_FUSED) && defined(__SSE2__) && defined(__GNUC__)
typedef @real@ @p@_angles_ __attribute__((vector_size(16)));
typedef uint@bits@_t @p@_lanes_ __attribute__((vector_size(16)));
#if defined(__clang__)
#define @P@_ANGLES(count) _Pragma("unroll") for (int i = 0; i < (count); i += @lanes@)
#else
#define @P@_ANGLES(count) _Pragma("GCC unroll 16") for (int i = 0; i < (count); i += @lanes@)
#endif
#else
typedef @real@ @p@_angles_;
typedef uint@bits@_t @p@_lanes_;
#define @P@_ANGLES(count) for (int i = 0; i < (count); ++i)
#endif

/* x = k pi/2 + r,  |r| <= pi/4;  sin r = r + r^3 S(r^2),  cos r = 1 - r^2/2 + r^4 C(r^2) */
@inline@ void @p@_sincos_(const @real@ *angle, @real@ *sine, @real@ *cosine) {
    @P@_IN_ORDER
    @p@_angles_ x;
    memcpy(&x, angle, sizeof x);
    const @p@_angles_ shifted = @P@_FMA(x, @two_over_pi@, @rounder@);
    const @p@_angles_ k = shifted - @rounder@;
    /* The product with x overflows beyond the largest angle: then r is not a number. */
#if @few_bits@
    const @p@_angles_ rest = x * @overflow@ * @zero@ + @part1@;
    const @p@_angles_ r = @P@_FMA(k, rest, @P@_FMA(k, @part0@, x));
#else
    const @p@_angles_ rest = x * @fma_overflow@ * @zero@ + @rest@;
    const @p@_angles_ r = @P@_FMA(k, rest, @P@_FMA(k, @half_pi@, x));
#endif
    const @p@_angles_ z = r * r;
    @sine@
    const @p@_angles_ s = @P@_FMA(z * r, @s_of_z@, r);
    const @p@_angles_ half = z * @half@;
    const @p@_angles_ h = @one@ - half;
    @cosine@
    const @p@_angles_ c = h + @P@_FMA(z * z, @c_of_z@, (@one@ - h) - half);
    /* Quadrants 0, 1, 2, 3:  sine is s, c, -s, -c;  cosine is c, -s, -c, s */
    @p@_lanes_ quadrant, bits_s, bits_c;
    memcpy(&quadrant, &shifted, sizeof x);
    memcpy(&bits_s, &s, sizeof x);
    memcpy(&bits_c, &c, sizeof x);
    const @p@_lanes_ both = (bits_s ^ bits_c) & (0u - (quadrant & 1u));
    bits_s ^= both ^ ((quadrant & 2u) << @sign@);
    bits_c ^= both ^ (((quadrant + 1u) & 2u) << @sign@);
    memcpy(sine, &bits_s, sizeof x);
    memcpy(cosine, &bits_c, sizeof x);
}

/* tanh |x| = e / (e + 2),  e = exp(2|x|) - 1 */
@inline@ void @p@_tanh_(const @real@ *argument, @real@ *result) {
    @P@_IN_ORDER
    const @real@ x = *argument;
    const @real@ size = @p@_fabs_(x);
    const @real@ y = (size > @large@ ? @large@ : size) * @two@;
    const @real@ shifted = @P@_FMA(y, @one_over_ln2@, @rounder@);
    const @real@ k = shifted - @rounder@;
    const @real@ r = @P@_FMA(k, @ln2_rest@, @P@_FMA(k, @ln2@, y));
    @exponential@
    const @real@ less = @P@_FMA(r * r, @e_of_r@, r);
    const @real@ power = @p@_from_bits_((@p@_bits_(shifted) + @bias@u) << @mantissa@);
    const @real@ e = @P@_FMA(power, less, power - @one@);
    const uint@bits@_t sign = @p@_bits_(x) & ~(~(uint@bits@_t)0 >> 1);
    *result = @p@_from_bits_(@p@_bits_(e / (e + @two@)) | sign);
}
"""
