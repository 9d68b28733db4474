"""The functions around what kernels compute, in LLVM's language: parameters, and loops.

    void name.sample(const double *input..., double *output...)
    void name.batch(const double *input, int64 stride, ..., double *output...,
                    int64 begin, int64 end)
    void name.scan(the same)
    void name.march(double *input, int64 per_block, int64 per_step, ..., (outputs likewise) ...,
                    int64 begin, int64 end, int64 steps)

`batch` and `scan` read row i of an input at `input + i stride` and write row i of an output of m
entries at `output + i m`, for begin <= i < end. Outputs of a batch must not overlap inputs; `scan`
computes row after row, and outputs may be later inputs.

`march` takes blocks, as many samples as there are lanes, through steps, each step's outputs the
next one's inputs. Arrays hold columns: at a step, the values that an entry i has in a block lie at
`array + block per_block + step per_step + i lanes`. So a step needs neither transposing nor
anything of another sample, and the state of a block stays in the fastest memory from its first
step to its last. Inputs and outputs may be the same memory: a step reads all before it writes.
"""

from collections.abc import Iterator

from robot_dynamics.codegen.backends.llvm_writer import Writer, counting
from robot_dynamics.codegen.tracing.program import Signature


def begun(kind: str, program: str, signature: Signature, lanes: int) -> Writer:
    """Return a writer that has begun a function of a program."""
    w = Writer(lanes)
    own = '' if kind in ('scan', 'march') else 'noalias '
    arrays = row_strides(signature)
    if kind == 'sample':
        parameters = [f'ptr {own}{array}' for array in arrays]
    elif kind == 'march':
        parameters = [f'ptr {array}, i64 {array}.block, i64 {array}.step' for array in arrays]
        parameters += ['i64 %begin', 'i64 %end', 'i64 %steps']
    else:
        parameters = [
            f'ptr {own}{array}' if isinstance(stride, int) else f'ptr {own}{array}, i64 {stride}'
            for array, stride in arrays.items()
        ]
        parameters += ['i64 %begin', 'i64 %end']
    w.lines.append(f'define void @{program}.{kind}({", ".join(parameters)}) nounwind {{')
    w.begin_block('start')
    return w


def ended(w: Writer) -> Writer:
    """Return the writer, with the function's end written."""
    w.lines += ['  ret void', '}']
    return w


def row_strides(signature: Signature) -> dict[str, int | str]:
    """Return all arrays, and how many doubles the rows of each are apart."""
    inputs = [f'%in.{name}' for name, _ in signature.inputs]
    outputs = [f'%out.{name}' for name, _ in signature.outputs]
    given = {array: f'{array}.stride' for array in inputs}
    return given | dict(zip(outputs, signature.output_sizes, strict=True))


def rows_in_lanes(w: Writer, first: str) -> list[str]:
    """Return the number of a row for each lane of a batch, from the first on.

    Past the end, lanes repeat the last row and write the same there again: any number will do.
    """
    w.intrinsics.add('declare i64 @llvm.smin.i64(i64, i64)')
    last = w.let('sub i64 %end, 1')
    ahead = [w.let(f'add i64 {first}, {lane}') for lane in range(w.lanes)]
    return [w.let(f'call i64 @llvm.smin.i64(i64 {row}, i64 {last})') for row in ahead]


def scan_kernel(program: str, signature: Signature) -> Writer:
    """Return the function that calls `sample` for one row after the other."""
    w = begun('scan', program, signature, 1)
    for row in counting(w, '%begin', '%end'):
        places = [
            (array, w.let(f'mul i64 {row}, {stride}'))
            for array, stride in row_strides(signature).items()
        ]
        rows = ', '.join(f'ptr {w.element(array, place)}' for array, place in places)
        w.do(f'call void @{program}.sample({rows})')
    return ended(w)


def steps_of_blocks(w: Writer, signature: Signature) -> Iterator[dict[str, str]]:
    """Write the loops of a march and yield where the columns of each array are, once."""
    for block in counting(w, '%begin', '%end'):
        of_block = {}
        for array in row_strides(signature):
            of_block[array] = w.element(array, w.let(f'mul i64 {block}, {array}.block'))
        for step in counting(w, 0, '%steps'):
            yield {
                array: w.element(place, w.let(f'mul i64 {step}, {array}.step'))
                for array, place in of_block.items()
            }
