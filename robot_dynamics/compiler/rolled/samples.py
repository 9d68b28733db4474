"""Loops over rows for one sample, or for several in the lanes of vectors: how matrices are filled.

For one sample, many entries of a matrix's row are computed side by side, as a column's numbers are
neighbours in memory. For several, an entry at a time is computed for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.compiler.llvm_source import transpose
from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.rolled.loops import Loops, counting
from robot_dynamics.compiler.rolled.program import CARRIED, CARRIER, Pairs
from robot_dynamics.compiler.trace import Program

# Which halves of a matrix there are, and what changes along a row of each.
HALVES = ('below', CARRIER), ('above', CARRIED)


@dataclass
class OneSample(Loops):
    """Writes the loops for one sample, several entries of matrices at a time."""

    lanes: int

    def _pairs(self, pairs: Pairs) -> None:
        one, wide = self.one, self.w.with_lanes(self.lanes)
        with counting(one, 0, self.n) as row:
            own = self._row(row)
            matrices = [self._at(self.places[f'%out.{m}'], row, self.n) for m in pairs.outputs]
            if self._has_zeros():
                with counting(one, 0, self.n, self.lanes) as i:
                    store_some(wide, ['zeroinitializer'] * len(matrices), matrices, i, self.n)
            for matrix, column in zip(matrices, pairs.diagonal, strict=True):
                one.store(one.load(self._number(own, column)), one.element(matrix, row))
            for half, moving in HALVES:
                self._half_row(wide, getattr(pairs, half), moving, row, matrices)

    def _half_row(
        self, wide: Writer, entries: Program, moving: str, row: str, matrices: Sequence[str]
    ) -> None:
        """Write the entries of a row of matrices that lie on one side of the diagonal."""
        own = self._row(row)
        # What belongs to the row itself, or to all, is the same in all lanes.
        fixed = {}
        for index, node in enumerate(entries.nodes):
            if node[0] == 'input' and node[1] != moving:
                _, name, i = node
                shared = name not in (CARRIER, CARRIED)
                place = self._entry(f'%in.{name}', i) if shared else self._number(own, i)
                fixed[index] = wide.spread(self.one.load(place))
        with self._related(row, moving, wide.lanes) as (other, end):
            place = self._row(other)
            values = self._results(
                wide, entries, lambda _, column: wide.load(self._number(place, column)), fixed
            )
            store_some(wide, values, matrices, other, end)


@dataclass
class Columns(Loops):
    """Writes the loops for several samples, whose inputs and outputs are columns of vectors."""

    def write(self) -> None:
        """Write everything; outputs last, as they may be where inputs are."""
        targets = dict(self.places)
        for name, shape in self.program.signature.outputs:
            self.places[f'%out.{name}'] = self._reserved(math.prod(shape))
        results = dict(self.places)
        super().write()
        for name, shape in self.program.signature.outputs:
            with counting(self.one, 0, math.prod(shape)) as i:
                value = self.w.load(self._at(results[f'%out.{name}'], i, self.w.lanes))
                self.w.store(value, self._at(targets[f'%out.{name}'], i, self.w.lanes))

    def _pairs(self, pairs: Pairs) -> None:
        w, one = self.w, self.one
        with counting(one, 0, self.n) as row:
            own = self._row(row)
            matrices = [self._matrix_row(f'%out.{name}', row) for name in pairs.outputs]
            if self._has_zeros():
                for matrix in matrices:
                    self._clear(matrix, self.n)
            for matrix, column in zip(matrices, pairs.diagonal, strict=True):
                w.store(w.load(self._number(own, column)), self._at(matrix, row, w.lanes))
            for half, moving in HALVES:
                self._half_row(getattr(pairs, half), moving, row, matrices)
            for name, matrix in zip(pairs.outputs, matrices, strict=True):
                self._finish_row(f'%out.{name}', row, matrix)

    def _matrix_row(self, array: str, row: str) -> str:
        """Return where a row of a matrix is computed."""
        return self._at(self.places[array], row, self.n * self.w.lanes)

    def _finish_row(self, array: str, row: str, matrix: str) -> None:
        """Write what is done with a row of a matrix."""

    def _half_row(self, entries: Program, moving: str, row: str, matrices: Sequence[str]) -> None:
        """Write the entries of a row of matrices that lie on one side of the diagonal."""
        own = self._row(row)
        with self._related(row, moving, 1) as (other, _):
            place = self._row(other)

            def load(name: str, i: int) -> str:
                if name not in (CARRIER, CARRIED):
                    return self.w.load(self._entry(f'%in.{name}', i))
                return self.w.load(self._number(place if name == moving else own, i))

            values = self._results(self.w, entries, load)
            for matrix, value in zip(matrices, values, strict=True):
                self.w.store(value, self._at(matrix, other, self.w.lanes))


@dataclass
class ManySamples(Columns):
    """Writes the loops for several samples, whose inputs and outputs are rows of arrays."""

    rows: dict[str, list[str]]  # where the samples' inputs and outputs are

    def write(self) -> None:
        """Write everything: rows are turned into columns of vectors, and back."""
        for name, size in self.program.signature.inputs:
            self.places[f'%in.{name}'] = place = self._reserved(size)
            self._turn_in(self.rows[f'%in.{name}'], place, size)
        whole = dict(self.program.signature.outputs)
        if self.program.pairs and not self.program.coordinates:
            for name in self.program.pairs.outputs:
                self.places[f'%out.{name}'] = self._reserved(self.n)
                del whole[name]
        for name, shape in whole.items():
            self.places[f'%out.{name}'] = self._reserved(math.prod(shape))
        results = dict(self.places)
        Loops.write(self)
        for name, shape in whole.items():
            array = f'%out.{name}'
            self._turn_back(results[array], self.rows[array], math.prod(shape))

    def _matrix_row(self, array: str, row: str) -> str:
        # Rows of a matrix that is not needed whole are computed in the same, nearby, place.
        return super()._matrix_row(array, row if self.program.coordinates else '0')

    def _finish_row(self, array: str, row: str, matrix: str) -> None:
        if not self.program.coordinates:
            rows = [self._at(sample, row, self.n) for sample in self.rows[array]]
            self._turn_back(matrix, rows, self.n)

    def _turn_in(self, rows: Sequence[str], place: str, size: int) -> None:
        """Write entries of rows as vectors."""
        w = self.w
        with counting(self.one, 0, size, w.lanes) as i:
            inside, block = _inside(w, i, size), self._at(place, i, w.lanes)
            blocks = [w.load_where(inside, w.element(row, i)) for row in rows]
            for lane, vector in enumerate(transpose(w, blocks)):
                w.store(vector, w.element(block, lane * w.lanes))

    def _turn_back(self, place: str, rows: Sequence[str], size: int) -> None:
        """Write vectors as entries of rows."""
        w = self.w
        with counting(self.one, 0, size, w.lanes) as i:
            block = self._at(place, i, w.lanes)
            vectors = [w.load(w.element(block, lane * w.lanes)) for lane in range(w.lanes)]
            store_some(w, transpose(w, vectors), rows, i, size)


def store_some(
    wide: Writer, values: Sequence[str], arrays: Sequence[str], i: str, end: object
) -> None:
    """Write entries i, i + 1, ..., one for each lane, but none from `end` on."""
    inside = _inside(wide, i, end)
    for value, array in zip(values, arrays, strict=True):
        wide.store_where(inside, value, wide.element(array, i))


def _inside(wide: Writer, i: str, end: object) -> str:
    """Return for each lane whether i + lane < end."""
    steps = ', '.join(f'i64 {lane}' for lane in range(wide.lanes))
    places = wide.let(f'add {wide.integers} {wide.spread_integer(i)}, <{steps}>')
    return wide.let(f'icmp slt {wide.integers} {places}, {wide.spread_integer(str(end))}')
