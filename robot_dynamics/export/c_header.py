# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot as a header in C99 that is also C++17, with a self-test.

    exported = functions(arm, ['gravity_torque'])
    files = c_files(arm, exported, 'panda', 'double', version='0.1.0', self_test=True)

One header of `static inline` functions: it is compiled with the flags of the code that includes
it, so that nothing has to be linked, and its check of unsafe flags sees all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.codegen.backends.c import Dialect
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.export.functions import (
    Case,
    ExportError,
    Function,
    c_string,
    cases,
    plain,
)

IDENTIFIER = re.compile(r'[A-Za-z][A-Za-z0-9_]*')
# Headers of C, and those that they include: one of ours would be taken for them.
HEADERS = {
    *('alloca', 'assert', 'complex', 'ctype', 'endian', 'errno', 'features', 'fenv', 'float'),
    *('inttypes', 'iso646', 'limits', 'locale', 'math', 'setjmp', 'signal', 'stdalign', 'stdarg'),
    *('stdatomic', 'stdbool', 'stddef', 'stdint', 'stdio', 'stdlib', 'stdnoreturn', 'string'),
    *('strings', 'tgmath', 'threads', 'time', 'uchar', 'wchar', 'wctype'),
}

# Of the largest entry of a result; without fused multiply-add in hardware it is seldom exact.
TOLERANCES = {'double': 1e-13, 'float': 1e-4}


def c_files(
    arm: Dynamics,
    exported: Sequence[Function],
    name: str,
    scalar: str,
    *,
    version: str,
    self_test: bool,
) -> dict[str, str]:
    """Return the texts of a header and what belongs to it, by file name.

    Args:
        arm: the robot.
        exported: its functions.
        name: of the header; begins the names of its functions.
        scalar: 'double' or 'float'.
        version: of this package.
        self_test: with a program that compares the functions with numbers from here.

    Raises:
        ExportError: the name is no identifier, or a function is not for float.
    """
    check_identifier(name)
    dialect = Dialect(name, scalar)
    files = {
        f'{name}.h': _header(arm, exported, dialect, version),
        'CMakeLists.txt': _cmake(name, self_test),
    }
    if self_test:
        files[f'{name}_self_test.c'] = _self_test(arm, exported, dialect, version)
    return files


def check_identifier(name: str) -> None:
    """Raise ExportError if a name cannot be that of a header and begin those of functions."""
    if not IDENTIFIER.fullmatch(name):
        raise ExportError(f'name {name!r} is no identifier of C; expected letters, digits and _')
    if name.lower() in HEADERS:
        raise ExportError(f'name {name!r} is that of a header of C; expected another')


def identifier(text: str) -> str:
    """Return a name as an identifier of C that is no header of C."""
    words = re.sub(r'[^A-Za-z0-9]+', '_', text).strip('_').lower()
    is_free = IDENTIFIER.fullmatch(words) and words not in HEADERS
    return words if is_free else f'robot_{words}'.rstrip('_')


def _header(arm: Dynamics, exported: Sequence[Function], dialect: Dialect, version: str) -> str:
    model, name = arm.model, dialect.prefix
    text = f"""\
/* Dynamics of {plain(model.name)}, written by robot_dynamics {version}.

   M(q) qdd + C(q, qd) qd + g(q) = tau        n = {model.n} joints, friction not included

   Arrays have n entries, (n, n) matrices n * n entries, row by row. Units are SI; six-vectors have
   the angular part first. Arguments must not overlap. Nothing is allocated, and the time of a call
   does not depend on its values.

{facts(arm, dialect)}
*/
#ifndef {name.upper()}_H
#define {name.upper()}_H

{dialect.beginning()}
#define {dialect.macro('N')} {model.n}

{_joint_arrays(model, dialect)}
"""
    for function in exported:
        text += f'\n/* {about(function)} */\n{definition(function, dialect)}\n'
        text += _with_state(function, dialect)
    return f'{text}\n{dialect.end()}\n\n#endif\n'


# Arrays of the joints in a header: their names there, and what they are.
JOINT_ARRAYS = {
    'lower': 'lower position limits, rad or m',
    'upper': 'upper position limits',
    'velocity_limit': 'rad/s or m/s',
    'effort_limit': 'N m or N',
    'viscous': 'viscous friction, N m s/rad or N s/m',
    'coulomb': 'Coulomb friction, N m or N',
}


def _joint_arrays(model: RobotModel, dialect: Dialect) -> str:
    """Return the definitions of the names, limits and friction of the joints."""
    n, lines = dialect.macro('N'), ['/* Joints: names, in UTF-8. */']
    names = ',\n    '.join(map(c_string, model.joint_names))
    lines.append(
        f'static const char *const {dialect.prefix}_joint_names[{n}] = {{\n    {names}}};'
    )
    lines.append('/* Limits, infinite where there are none, and friction. */')
    for name, meaning in JOINT_ARRAYS.items():
        values = ', '.join(_value(x, dialect) for x in getattr(model, name).tolist())
        head = f'static const {dialect.scalar} {dialect.prefix}_{name}[{n}]'
        lines.append(f'{head} = {{  /* {meaning} */\n    {values}}};')
    return '\n'.join(lines)


def _value(x: float, dialect: Dialect) -> str:
    """Return a number of the scalars' type, which may be infinite."""
    if math.isinf(x):
        return ('-' if x < 0 else '') + f'HUGE_VAL{dialect.format.suffix.upper()}'
    return dialect.constant(x)


def facts(arm: Dynamics, dialect: Dialect) -> str:
    """Return the lines of a comment about gravity, joints, angles and model."""
    model = arm.model
    angle, separate = (f'2^{math.log2(limit):g} rad' for limit in dialect.limits)
    other = f', without fused multiply-add in hardware {separate}' if separate != angle else ''
    joints = [
        f'     {i}  {plain(joint)}, {"rad" if angular else "m"}'
        for i, (joint, angular) in enumerate(zip(model.joint_names, model.angular, strict=True))
    ]
    x, y, z = model.gravity
    return f"""\
   Gravity of the model is ({x:g}, {y:g}, {z:g}) m/s^2 in the base frame.

   Order and unit of the joints:
{chr(10).join(joints)}

   Angles are at most {angle}{other}:
   beyond that, results are not a number.

   Model: {model.fingerprint()}"""


def about(function: Function) -> str:
    """Return the documentation of a function as a part of a comment, its frame in the 2nd line."""
    lines = function.documentation.splitlines()
    if function.frame is not None:
        lines.insert(1, f'    Frame: {plain(function.frame)}.')
    return '\n   '.join(line.rstrip() for line in lines)


def definition(function: Function, dialect: Dialect) -> str:
    """Return the definition of a function. Raises ExportError if it is not for float."""
    try:
        return dialect.function(function.program)
    except OverflowError as error:
        name = function.program.name
        raise ExportError(f'function {name!r} needs --scalar double: {error}') from None


def _with_state(function: Function, dialect: Dialect) -> str:
    """Return a struct of the inputs that results are fed back to, and functions that keep it."""
    own = _StatefulFunction.of(function, dialect)
    if not own.state:
        return ''
    order = 'begin, then one step for each sample'
    if function.begin:
        order = 'begin with the first sample, then one step for each further sample'
    return f"""
/* The same with its state: {order}. */
typedef struct {{
{own.fields()}
}} {own.name}_state;

{own.step()}

{own.begin(function.begin)}
"""


@dataclass(frozen=True)
class _StatefulFunction:
    """A function whose state is kept in a struct between its calls."""

    name: str
    dialect: Dialect
    inputs: dict[str, int]  # sizes
    outputs: list[str]

    @classmethod
    def of(cls, function: Function, dialect: Dialect) -> _StatefulFunction:
        """Return a function with its state."""
        signature = function.program.signature
        outputs = [key for key, _ in signature.outputs]
        name = f'{dialect.prefix}_{function.program.name}'
        return cls(name, dialect, dict(signature.inputs), outputs)

    @property
    def state(self) -> list[str]:
        """Results that are inputs of the next call."""
        return [key for key in self.outputs if key in self.inputs]

    @property
    def given(self) -> list[str]:
        """Inputs that are arguments of each call."""
        return [key for key in self.inputs if key not in self.state]

    @property
    def results(self) -> list[str]:
        """Results that are not state."""
        return [key for key in self.outputs if key not in self.state]

    def fields(self) -> str:
        """Return the fields of the struct."""
        scalar = self.dialect.scalar
        return '\n'.join(f'    {scalar} {key}[{self.inputs[key]}];' for key in self.state)

    def _pointer(self, key: str) -> str:
        return f'{self.dialect.scalar} *{self.dialect.macro("RESTRICT")} {key}'

    def step(self) -> str:
        """Return the function that computes the next state and the results."""
        name, state = self.name, self.state
        heads = [f'{name}_state *state', *(f'const {self._pointer(key)}' for key in self.given)]
        heads += map(self._pointer, self.results)
        passed = [f'before.{key}' if key in state else key for key in self.inputs]
        passed += [f'state->{key}' if key in state else key for key in self.outputs]
        return f"""\
static inline void {name}_step(
    {(',' + chr(10) + '    ').join(heads)}) {{
    const {name}_state before = *state;
    {name}({', '.join(passed)});
}}"""

    def begin(self, first: Sequence[str]) -> str:
        """Return the function that begins with these inputs of the first sample."""
        heads = [f'const {self._pointer(key)}' for key in self.given if key in first]
        steps = self._first_step(first) if first else '\n    memset(state, 0, sizeof *state);'
        return f"""\
static inline void {self.name}_begin({', '.join([f'{self.name}_state *state', *heads])}) {{{steps}
}}"""

    def _first_step(self, first: Sequence[str]) -> str:
        """Return the lines of a step of the first sample from 0, of 1 s and with poles at 0."""
        d, given = self.dialect, self.given
        zero, one, count = d.constant(0.0), d.constant(1.0), d.macro('N')
        unit = [
            key if key in first else 'one' if self.inputs[key] == 1 else 'zeros' for key in given
        ]
        passed = ', '.join([*unit, *self.results])
        return f"""
    static const {d.scalar} one[1] = {{{one}}}, zeros[2] = {{{zero}, {zero}}};
    {d.scalar} {', '.join(f'{key}[{count}]' for key in self.results)};
    memset(state, 0, sizeof *state);
    {self.name}_step(state, {passed});  /* poles at 0: filters stay at 0 */"""


def _self_test(arm: Dynamics, exported: Sequence[Function], dialect: Dialect, version: str) -> str:
    """Return a program that compares the functions with numbers from here."""
    name, scalar = dialect.prefix, dialect.scalar
    precision = np.dtype(f'f{dialect.format.bits // 8}')
    tested = [(function, cases(arm, function, precision)) for function in exported]
    tables = [table for function, found in tested for table in _tables(function, found, dialect)]
    calls = [_comparison(function, found, dialect) for function, found in tested]
    return f'''\
/* Compares {name}.h with numbers of robot_dynamics {version}; returns 0 if they agree. */
#include <stdio.h>

#include "{name}.h"

{chr(10).join(tables)}

static int compare(const char *name, const {scalar} *results, const {scalar} *expected,
                   int size) {{
    {scalar} error = 0, largest = 0;
    int i, equal = 0;
    for (i = 0; i < size; ++i) {{
        const {scalar} difference = {name}_fabs_(results[i] - expected[i]);
        const {scalar} magnitude = {name}_fabs_(expected[i]);
        equal += difference <= 0;
        error = {name}_maximum_(error, difference);
        largest = {name}_maximum_(largest, magnitude);
    }}
    printf("%-48s error %.2g of %.3g, %d of %d entries equal\\n", name, (double)error,
           (double)largest, equal, size);
    return !(error <= {dialect.constant(TOLERANCES[scalar])} * largest);
}}

int main(void) {{
    int failed = 0;
{chr(10).join(calls)}
    printf(failed ? "FAILED\\n" : "PASSED\\n");
    return failed != 0;
}}
'''


def _tables(function: Function, found: Sequence[Case], dialect: Dialect) -> list[str]:
    """Return the definitions of a function's arguments and expected results in all states."""
    method, signature = function.program.name, function.program.signature
    arguments = {
        key: [case.inputs[k] for case in found] for k, (key, _) in enumerate(signature.inputs)
    }
    expected = {
        f'{key}_expected': [case.outputs[k] for case in found]
        for k, (key, _) in enumerate(signature.outputs)
    }
    named = [*arguments.items(), *expected.items()]
    return [_table(f'{method}_{key}', rows, dialect) for key, rows in named]


def _table(name: str, rows: Sequence[Array], dialect: Dialect) -> str:
    lines = ',\n    '.join(
        '{' + ', '.join(map(dialect.constant, row.tolist())) + '}' for row in rows
    )
    return (
        f'static const {dialect.scalar} {name}[{len(rows)}][{rows[0].size}] = {{\n    {lines}}};'
    )


def _comparison(function: Function, found: Sequence[Case], dialect: Dialect) -> str:
    """Return the lines that call a function in each state and compare its results."""
    method, signature, states = function.program.name, function.program.signature, len(found)
    sizes = {
        key: values.size
        for (key, _), values in zip(signature.outputs, found[0].outputs, strict=True)
    }
    lines = ['    {', '        int i;']
    lines += [f'        {dialect.scalar} {key}[{states}][{size}];' for key, size in sizes.items()]
    arguments = [f'{method}_{key}[i]' for key, _ in signature.inputs]
    arguments += [f'{key}[i]' for key in sizes]
    call = f'{dialect.prefix}_{method}({", ".join(arguments)});'
    lines.append(f'        for (i = 0; i < {states}; ++i) {call}')
    for key, size in sizes.items():
        label = method if len(sizes) == 1 else f'{method}: {key}'
        expected = f'{method}_{key}_expected[0]'
        call = f'compare("{label}", {key}[0], {expected}, {states * size})'
        lines.append(f'        failed += {call};')
    return '\n'.join([*lines, '    }'])


def _cmake(name: str, self_test: bool) -> str:
    text = f"""\
# add_subdirectory() this folder and link {name}_dynamics: #include <{name}.h> then works.
cmake_minimum_required(VERSION 3.14)
project({name}_dynamics LANGUAGES C)
add_library({name}_dynamics INTERFACE)
target_include_directories({name}_dynamics INTERFACE ${{CMAKE_CURRENT_SOURCE_DIR}})
if(NOT MSVC)
  target_link_libraries({name}_dynamics INTERFACE m)
endif()
"""
    if self_test:
        text += f"""
enable_testing()
add_executable({name}_self_test {name}_self_test.c)
target_link_libraries({name}_self_test PRIVATE {name}_dynamics)
add_test(NAME {name}_self_test COMMAND {name}_self_test)
"""
    return text
