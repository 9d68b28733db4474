# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot as external functions of CasADi, with their Jacobians.

    gcc -shared -fPIC -O2 -march=native panda_casadi.c -o panda_casadi.so -lm
    casadi.external('panda_inverse_dynamics', './panda_casadi.so')

CasADi finds `jac_NAME` beside `NAME` in the library. Its matrices are stored by columns, any
argument or result may be NULL, which stands for zeros and for a result that is not wanted, and a
Jacobian has the results of its function as further inputs, here without entries: none is used.

Source: CasADi 3.8, user guide, section "Using casadi.external".
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from robot_dynamics.codegen.backends.c import Dialect
from robot_dynamics.core.algorithms.jacobian import forward_kinematics, jacobian
from robot_dynamics.core.algorithms.vectors import cross
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.programs import Robot
from robot_dynamics.export.c_header import about, check_identifier, definition, facts
from robot_dynamics.export.functions import ExportError, Function, functions, plain

POSE_DERIVATIVE = 'forward_kinematics_derivative'

# Functions, and the functions whose results are their derivatives by each input, in order. An
# input that a function lacks is zero; further results are not used.
DERIVATIVES = {
    'inverse_dynamics': 'inverse_dynamics_derivatives',
    'forward_dynamics': 'forward_dynamics_derivatives',
    'gravity_torque': 'gravity_torque_derivative',
    'bias_torque': 'inverse_dynamics_derivatives',
    'potential_energy': 'gravity_torque',
    'forward_kinematics': POSE_DERIVATIVE,
}


class Matrix(NamedTuple):
    """An argument or result of an external function."""

    name: str
    rows: int
    columns: int
    dense: int = 1  # 0: without entries


def casadi_files(
    arm: Dynamics, exported: Sequence[Function], name: str, *, version: str
) -> dict[str, str]:
    """Return the text of a source file in C99 for CasADi, by file name.

    Args:
        arm: the robot.
        exported: its functions, of `DERIVATIVES`.
        name: of the file; begins the names of its functions.
        version: of this package.

    Raises:
        ExportError: the name is none for CasADi, or a function has no derivatives.
        ModelError: the derivatives are undefined, or too long to export.
    """
    check_identifier(name)
    if '__' in name or name.endswith('_'):
        raise ExportError(f'name {name!r} is none for CasADi; expected no __, and no _ at the end')
    dialect = Dialect(f'{name}_c')
    pairs = [(function, _derivatives(arm, function)) for function in exported]
    programs = {each.program.name: each for pair in pairs for each in pair}
    externals = ''.join(_with_jacobian(name, *pair, dialect) for pair in pairs)
    inner = '\n\n'.join(definition(each, dialect) for each in programs.values())
    largest = max(size for each in programs.values() for _, size in each.program.signature.inputs)
    names = '\n     '.join(f'{name}_{function.program.name}' for function in exported)
    text = f"""\
/* Dynamics of {plain(arm.model.name)} for CasADi, written by robot_dynamics {version}.

   gcc -shared -fPIC -O2 -march=native {name}_casadi.c -o {name}_casadi.so -lm
   casadi.external(NAME, './{name}_casadi.so'), NAME being one of
     {names}

   Friction is not included. Units are SI.

{facts(arm, dialect)}
*/
{dialect.beginning()}
{inner}
{BEGINNING.format(largest=largest)}{externals}
{dialect.end()}
#undef EXPORTED
"""
    return {f'{name}_casadi.c': text}


def _with_jacobian(name: str, function: Function, partial: Function, dialect: Dialect) -> str:
    """Return the external functions of a function and of its Jacobian.

    Args:
        name: begins their names.
        function: what is computed.
        partial: computes its derivatives.
        dialect: of both.
    """
    key, signature = function.program.name, function.program.signature
    ((result, shape),) = signature.outputs
    rows, columns = (*shape, 1, 1)[:2]
    given = [Matrix(each, size, 1) for each, size in signature.inputs]
    value = _External(f'{name}_{key}', given, [Matrix(result, rows, columns)])
    unused = Matrix(f'out_{result}', rows, columns, dense=0)
    blocks = [Matrix(f'jac_{result}_{x.name}', rows * columns, x.rows) for x in given]
    slope = _External(f'jac_{name}_{key}', [*given, unused], blocks)
    definitions = value.definition(function, dialect) + slope.definition(partial, dialect)
    return f'\n/* {about(function)} */{definitions}'


def _derivatives(arm: Dynamics, function: Function) -> Function:
    """Return the function whose results are the derivatives of a function."""
    name = function.program.name
    if name not in DERIVATIVES:
        raise ExportError(
            f'function {name!r} has no Jacobian for CasADi; expected {", ".join(DERIVATIVES)}'
        )
    if DERIVATIVES[name] != POSE_DERIVATIVE:
        return functions(arm, [DERIVATIVES[name]])[0]
    made = arm.programs.compiled(
        f'{POSE_DERIVATIVE} {function.frame}',
        lambda robot, q: _pose_derivative(robot, q, str(function.frame)),
        {'q': arm.model.n},
    )
    return Function(made, '')


def _pose_derivative(robot: Robot, q: Sequence[Any], frame: str) -> list[list[Any]]:
    """Return the derivative (16, n) of a pose, whose entries are taken by columns."""
    pose, J = forward_kinematics(robot.tree, q, frame), jacobian(robot.tree, q, frame)
    columns = []
    for column in zip(*J, strict=True):
        w, v = column[:3], column[3:]
        # dR/dq_j = w_j x R,   dp/dq_j = v_j
        axes = [cross(w, axis) for axis in list(zip(*pose[:3], strict=True))[:3]]
        columns.append([x for each in (*axes, v) for x in (*each, 0.0)])
    return [list(row) for row in zip(*columns, strict=True)]


class _External(NamedTuple):
    """A function by the calling convention of CasADi."""

    name: str
    inputs: Sequence[Matrix]
    outputs: Sequence[Matrix]

    def definition(self, computed: Function, dialect: Dialect) -> str:
        """Return the definitions of the function and of those that describe it.

        Args:
            computed: what it calls: the first results of that, row by row, are the outputs.
            dialect: of what it calls.
        """
        program, places = computed.program, {each.name: k for k, each in enumerate(self.inputs)}
        known = [places.get(key) for key, _ in program.signature.inputs]
        arguments = ['zeros' if k is None else f'arg[{k}] ? arg[{k}] : zeros' for k in known]
        ends = list(itertools.accumulate(program.signature.output_sizes, initial=0))
        call = ', '.join([*arguments, *(f'w + {begin}' for begin in ends[:-1])])
        copies = ''.join(
            f'    by_columns({each.rows}, {each.columns}, w + {begin}, res[{k}]);\n'
            for k, (each, begin) in enumerate(zip(self.outputs, ends, strict=False))
        )
        described = ''.join(
            DESCRIPTION.format(
                name=self.name,
                kind=kind,
                count=len(matrices),
                names=', '.join(f'"{each.name}"' for each in matrices),
                shapes=', '.join(f'{{{", ".join(map(str, each[1:]))}}}' for each in matrices),
            )
            for kind, matrices in (('in', self.inputs), ('out', self.outputs))
        )
        return described + EXTERNAL.format(
            name=self.name,
            inputs=len(self.inputs),
            outputs=len(self.outputs),
            room=ends[-1],
            call=f'{dialect.prefix}_{program.name}({call})',
            copies=copies,
        )


BEGINNING = """
#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

typedef long long int integer;

static const double zeros[{largest}] = {{0.0}};

static inline void by_columns(int rows, int columns, const double *by_rows, double *result) {{
    if (!result) return;
    for (int j = 0; j < columns; ++j) {{
        for (int i = 0; i < rows; ++i) *result++ = by_rows[i * columns + j];
    }}
}}
"""

# A shape is rows, columns and 1 if all entries are stored, else where columns begin: all at 0.
DESCRIPTION = """
EXPORTED integer {name}_n_{kind}(void) {{ return {count}; }}

EXPORTED const char *{name}_name_{kind}(integer i) {{
    static const char *const names[] = {{{names}}};
    return i >= 0 && i < {count} ? names[i] : 0;
}}

EXPORTED const integer *{name}_sparsity_{kind}(integer i) {{
    static const integer shapes[][8] = {{{shapes}}};
    return i >= 0 && i < {count} ? shapes[i] : 0;
}}
"""

EXTERNAL = """
EXPORTED int {name}_work(integer *arg, integer *res, integer *iw, integer *w) {{
    if (arg) *arg = {inputs};
    if (res) *res = {outputs};
    if (iw) *iw = 0;
    if (w) *w = {room};
    return 0;
}}

EXPORTED int {name}(
    const double **arg, double **res, integer *iw, double *w, int mem) {{
    (void)iw;
    (void)mem;
    {call};
{copies}    return 0;
}}
"""
