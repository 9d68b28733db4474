"""The kernel of many samples through many steps, each step's outputs the next one's inputs.

Arrays hold columns: entry by entry the values of as many samples as there are lanes, a block. So a
step needs neither transposing nor anything of another sample, and the state of a block stays in
the fastest memory from its first step to its last.

    void name.march(double *input, int64 per_block, int64 per_step, ..., (outputs likewise) ...,
                    int64 begin, int64 end, int64 steps)

At a step, entry i of an array lies at `array + block per_block + step per_step + i lanes`. Inputs
and outputs may be the same memory: a step reads all before it writes. The arithmetic is that of
`llvm_source`, and so are the bits.
"""

from collections.abc import Sequence

from robot_dynamics.compiler.arithmetic import Arithmetic
from robot_dynamics.compiler.lanes import apart
from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.sums import fused
from robot_dynamics.compiler.trace import Program


def march_kernel(program: Program, lanes: int) -> Writer:
    """Return the function that takes blocks begin <= block < end through steps > 0."""
    w = Writer(lanes)
    arrays = [f'in.{name}' for name, _ in program.signature.inputs]
    arrays += [f'out.{name}' for name, _ in program.signature.outputs]
    parameters = [f'ptr %{array}, i64 %{array}.block, i64 %{array}.step' for array in arrays]
    parameters += [f'i64 %{name}' for name in ('begin', 'end', 'steps')]
    w.lines += [
        f'define void @{program.name}.march({", ".join(parameters)}) nounwind {{',
        'start:',
        '  br label %blocks',
        'blocks:',
        '  %block = phi i64 [ %begin, %start ], [ %block.next, %after ]',
    ]
    of_block = _moved(w, [f'%{array}' for array in arrays], arrays, 'block')
    w.lines += [
        '  br label %loop',
        'loop:',
        '  %step = phi i64 [ 0, %blocks ], [ %step.next, %again ]',
    ]
    place = dict(zip(arrays, _moved(w, of_block, arrays, 'step'), strict=True))
    program = apart(fused(program))
    arithmetic = Arithmetic(
        w, program, lambda name, i: w.load(w.element(place[f'in.{name}'], i * lanes))
    )
    arithmetic.evaluate(range(len(program.nodes)))
    for (name, _), entries in zip(program.signature.outputs, program.results, strict=True):
        for i, node in enumerate(entries):
            w.store(arithmetic.values[node], w.element(place[f'out.{name}'], i * lanes))
    w.lines += [
        '  br label %again',
        'again:',
        '  %step.next = add i64 %step, 1',
        '  %step.more = icmp slt i64 %step.next, %steps',
        '  br i1 %step.more, label %loop, label %after',
        'after:',
        '  %block.next = add i64 %block, 1',
        '  %block.more = icmp slt i64 %block.next, %end',
        '  br i1 %block.more, label %blocks, label %done',
        'done:',
        '  ret void',
        '}',
    ]
    return w


def _moved(w: Writer, places: Sequence[str], arrays: Sequence[str], axis: str) -> list[str]:
    """Return where the entries of this block or step begin."""
    ahead = [w.let(f'mul i64 %{axis}, %{array}.{axis}') for array in arrays]
    return [w.element(place, count) for place, count in zip(places, ahead, strict=True)]
