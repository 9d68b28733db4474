# SPDX-License-Identifier: Apache-2.0
"""What a program is recorded from, and its form: straight line, vectorized branches, or loops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.codegen.backends.python import check_size
from robot_dynamics.codegen.loops.loop_program import LoopForm, LoopProgram
from robot_dynamics.codegen.tracing.graph import TooLong
from robot_dynamics.codegen.tracing.program import LANES, NO_OPERATIONS, Program, sizes
from robot_dynamics.codegen.tracing.trace import trace
from robot_dynamics.common.made_once import made_once

# Straight lines of more instructions take long to compile and are not faster than loops. Recording
# stops at this number of nodes.
LONGEST_UNROLLED = 12_000
MOST_RECORDED = 20_000

# Loops gain by computing several entries of a matrix's row at once, if the tree has this depth.
LONG_LINE = 12


# Branches are vectorized if that shortens a program by a fifth. A batch scalarizes them again and
# is a little slower for it: a lane has numbers that are 0 or 1 in others.
WORTH_VECTORS = 1.25


@dataclass(frozen=True)
class Recipe:
    """What a program is recorded from."""

    function: Callable[..., Any]
    inputs: Mapping[str, int]
    name: str
    outputs: Sequence[str] | None
    key: str | None
    loops: LoopForm | None = None
    vectors: bool = False  # in straight-line programs

    @made_once
    def program(self) -> Program | LoopProgram:
        """The program, recorded when it is first asked for.

        Loops are chosen over a straight line if it is very long, or if they take less time by
        their operations, several entries of a matrix in one, or if they are wanted always.
        TooLarge is raised for what should not be compiled.
        """
        if self.loops is None:
            return self._straight(None)
        if self.loops.always:
            return self._loops(self.loops)
        straight = self._straight_line(self.loops)
        if straight is None or instructions(straight) > LONGEST_UNROLLED:
            return self._loops(self.loops)
        matrices = any(len(shape) == 2 for _, shape in straight.signature.outputs)
        if not matrices or self.loops.rows.depth < LONG_LINE or machine_code.why_not():
            return straight
        loops = self._loops(self.loops)
        faster = operations(loops, machine_code.lanes()) < instructions(straight)
        return loops if faster else straight

    def _straight_line(self, loops: LoopForm) -> Program | None:
        """Return the shorter one of two, with scalar or vectorized branches; None: too long."""
        vectors = self._vectorized(loops) if self.vectors else None
        try:
            straight = self._straight(MOST_RECORDED)
        except TooLong:
            return vectors
        gain = vectors is not None and WORTH_VECTORS * effort(vectors) < effort(straight)
        return vectors if gain else straight

    def _vectorized(self, loops: LoopForm) -> Program | None:
        """Return a straight line with vectorized branches, None if there are too few."""
        # Imported here because programs in the cache do not need it.
        from robot_dynamics.codegen.loops import branch_vectorization as vectorized

        if WORTH_VECTORS * len(vectorized.lane_groups(loops.rows)) > len(loops.rows):
            return None
        try:
            return vectorized.trace_branches(
                loops, self.inputs, name=self.name, outputs=self.outputs, limit=MOST_RECORDED
            )
        except (TooLong, vectorized.NotVectorizable):
            return None

    def _loops(self, loops: LoopForm) -> LoopProgram:
        from robot_dynamics.codegen.loops.loop_assembly import trace_loops

        return trace_loops(loops, self.inputs, name=self.name, outputs=self.outputs)

    def _straight(self, limit: int | None) -> Program:
        program = self._traced(limit, self.vectors)
        # Vectors are faster where results are matrices, whose columns stay in the lanes. Where
        # results are vectors, extracting lanes costs as much as packing gains.
        packed = any(node[0] == 'pack' for node in program.nodes)
        if packed and not any(len(shape) == 2 for _, shape in program.signature.outputs):
            program = self._traced(limit, vectors=False)
        check_size(program)
        return program

    def _traced(self, limit: int | None, vectors: bool) -> Program:
        return trace(
            self.function,
            self.inputs,
            name=self.name,
            outputs=self.outputs,
            vectors=vectors,
            limit=limit,
        )

    @made_once
    def identity(self) -> str:
        """A text that differs where programs differ."""
        if self.key is None:
            return self.program.digest()
        return repr((self.key, self.name, tuple(self.inputs.items()), self.outputs))


def instructions(program: Program) -> int:
    """Return the number of operations of a straight line; one on a vector counts as one."""
    return sum(node[0] not in NO_OPERATIONS for node in program.nodes)


def effort(program: Program) -> int:
    """Return the number of instructions of a straight line, with those that fill vectors."""
    whole = LANES // machine_code.lanes()  # instructions for a vector
    count = 0
    for node, size in zip(program.nodes, sizes(program.nodes), strict=True):
        if node[0] == 'pack':
            entries = [(k, *program.nodes[i]) for k, i in enumerate(node[1:], LANES - size)]
            count += sum(
                op != 'constant' and (op, *of[1:]) != ('lane', k) for k, op, *of in entries
            )
        elif node[0] == 'lane':
            count += 1
        elif node[0] not in NO_OPERATIONS:
            count += whole if size > 1 else 1
    return count


def operations(program: Program | LoopProgram, *lanes: int) -> int:
    """Return how many operations a program takes."""
    return sum(program.operation_counts(*lanes).values())
