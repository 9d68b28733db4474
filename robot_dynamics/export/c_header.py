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

import numpy as np

from robot_dynamics.codegen.backends.c import Dialect
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.export.functions import Case, ExportError, Function, cases, plain

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
"""
    for function in exported:
        text += f'\n/* {about(function)} */\n{definition(function, dialect)}\n'
        text += _with_state(function, dialect)
    return f'{text}\n{dialect.end()}\n\n#endif\n'


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
    signature, scalar = function.program.signature, dialect.scalar
    name = f'{dialect.prefix}_{function.program.name}'
    state = [key for key, _ in signature.outputs if key in dict(signature.inputs)]
    if not state:
        return ''
    own = f'{scalar} *{dialect.macro("RESTRICT")} '
    given = [key for key, _ in signature.inputs if key not in state]
    results = [key for key, _ in signature.outputs if key not in state]
    sizes = dict(signature.inputs)
    fields = '\n'.join(f'    {scalar} {key}[{sizes[key]}];' for key in state)
    heads = [f'{name}_state *state', *(f'const {own}{key}' for key in given)]
    heads += [own + key for key in results]
    passed = [f'before.{key}' if key in state else key for key, _ in signature.inputs]
    passed += [f'state->{key}' if key in state else key for key, _ in signature.outputs]
    begun = [head for head, key in zip(heads[1:], given, strict=False) if key in function.begin]
    zero, one, count = dialect.constant(0.0), dialect.constant(1.0), dialect.macro('N')
    unit = [
        key if key in function.begin else 'one' if sizes[key] == 1 else 'zeros' for key in given
    ]
    first = f"""
    static const {scalar} one[1] = {{{one}}}, zeros[2] = {{{zero}, {zero}}};
    {scalar} {', '.join(f'{key}[{count}]' for key in results)};
    memset(state, 0, sizeof *state);
    {name}_step(state, {', '.join([*unit, *results])});  /* poles at 0: filters stay at 0 */"""
    order = 'begin with the first sample, then one step for each further sample'
    if not begun:
        order = 'begin, then one step for each sample'
        first = '\n    memset(state, 0, sizeof *state);'
    return f"""
/* The same with its state: {order}. */
typedef struct {{
{fields}
}} {name}_state;

static inline void {name}_step(
    {(',' + chr(10) + '    ').join(heads)}) {{
    const {name}_state before = *state;
    {name}({', '.join(passed)});
}}

static inline void {name}_begin({', '.join([heads[0], *begun])}) {{{first}
}}
"""


def _self_test(arm: Dynamics, exported: Sequence[Function], dialect: Dialect, version: str) -> str:
    name, scalar = dialect.prefix, dialect.scalar
    tables, calls = [], []
    for function in exported:
        method, signature = function.program.name, function.program.signature
        found = cases(arm, function, np.dtype(f'f{dialect.format.bits // 8}'))
        arrays = [key for key, _ in signature.inputs]
        for k, key in enumerate(arrays):
            tables.append(_table(f'{method}_{key}', [case.inputs[k] for case in found], dialect))
        for k, (key, _) in enumerate(signature.outputs):
            rows = [case.outputs[k] for case in found]
            tables.append(_table(f'{method}_{key}_expected', rows, dialect))
        calls.append(_comparison(method, arrays, found, signature.outputs, name, scalar))
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


def _table(name: str, rows: Sequence[Array], dialect: Dialect) -> str:
    lines = ',\n    '.join(
        '{' + ', '.join(map(dialect.constant, row.tolist())) + '}' for row in rows
    )
    return (
        f'static const {dialect.scalar} {name}[{len(rows)}][{rows[0].size}] = {{\n    {lines}}};'
    )


def _comparison(
    method: str,
    inputs: Sequence[str],
    found: Sequence[Case],
    outputs: Sequence[tuple[str, tuple[int, ...]]],
    name: str,
    scalar: str,
) -> str:
    """Return the lines that call a function in each state and compare its results."""
    states = len(found)
    sizes = [values.size for values in found[0].outputs]
    lines = ['    {', '        int i;']
    for (key, _), size in zip(outputs, sizes, strict=True):
        lines.append(f'        {scalar} {key}[{states}][{size}];')
    arguments = [f'{method}_{key}[i]' for key in inputs] + [f'{key}[i]' for key, _ in outputs]
    call = f'{name}_{method}({", ".join(arguments)});'
    lines.append(f'        for (i = 0; i < {states}; ++i) {call}')
    for (key, _), size in zip(outputs, sizes, strict=True):
        label = method if len(outputs) == 1 else f'{method}: {key}'
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
