# SPDX-License-Identifier: Apache-2.0
"""Exported C beside the C that CasADi generates: `python -m benchmarks.exported_casadi`.

Both are functions of one source file, compiled by the same compilers with the same flags and
called in turn in the same states. CasADi's expressions: `contenders/casadi_functions.py`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.exported import ARMS, FLAGS, version
from benchmarks.report import table
from benchmarks.robots import Robot, find
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.export.c_header import c_files
from robot_dynamics.export.functions import functions

FUNCTIONS = {
    'inverse_dynamics': 3,
    'mass_matrix': 1,
    'gravity_torque': 1,
    'forward_dynamics': 3,
}
COMPILERS = ('gcc', 'clang', 'clang-14')
STATES, CALLS, ROUNDS = 64, 2000, 25
# Relative to the largest entry: CasADi keeps the digits of pi/2 of a description.
AGREEMENT = 1e-8

SOURCE = """\
#include <stdio.h>
#include <time.h>
#include "{arm}.h"
#include "{arm}_casadi.c"
{states}
static double now(void) {{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}}
/* All of a result is needed: its stores are kept. */
static void keep(const void *result) {{ __asm__ volatile("" : : "r"(result) : "memory"); }}
static casadi_int iw[1 + {iw}];
static double w[1 + {w}], ours[{n} * {n}], theirs[{n} * {n}];
int main(void) {{
    double *out = theirs, best[2], error, largest, begin;
{comparisons}
    return 0;
}}
"""
COMPARISON = """\
    best[0] = best[1] = 1e12;
    error = largest = 0.0;
    for (int i = 0; i < {states}; ++i) {{
        const double *x[3] = {{q[i], qd[i], qdd[i]}};
        {arm}_{function}({given}, ours);
        casadi_{arm}_{function}(x, &out, iw, w, 0);
        for (int k = 0; k < {size}; ++k) {{
            const double by = fabs(ours[k] - theirs[k]), of = fabs(theirs[k]);
            error = by > error || by != by ? by : error;
            largest = of > largest ? of : largest;
        }}
    }}
    for (int r = 0; r < {rounds}; ++r) {{
        begin = now();
        for (int c = 0; c < {calls}; ++c) {{
            const int i = c % {states};
            {arm}_{function}({given}, ours);
            keep(ours);
        }}
        begin = (now() - begin) / {calls};
        best[0] = begin < best[0] ? begin : best[0];
        begin = now();
        for (int c = 0; c < {calls}; ++c) {{
            const int i = c % {states};
            const double *x[3] = {{q[i], qd[i], qdd[i]}};
            casadi_{arm}_{function}(x, &out, iw, w, 0);
            keep(theirs);
        }}
        begin = (now() - begin) / {calls};
        best[1] = begin < best[1] ? begin : best[1];
    }}
    printf("{function} %.2f %.2f %.3g\\n", best[0], best[1], error / largest);
"""


class Row(NamedTuple):
    """Nanoseconds of a call, and the largest difference of the results, of the largest of them."""

    function: str
    ours: float
    casadi: float
    error: float


def write(folder: Path, robot: Robot) -> Path:
    """Write the two sides of one arm and the program that compares them; return its path."""
    import casadi

    from benchmarks.contenders import casadi_functions

    arm, name, n = Dynamics(robot.model), robot.name, robot.model.n
    exported = functions(arm, list(FUNCTIONS))
    files = c_files(arm, exported, name, 'double', version='', self_test=False)
    (folder / f'{name}.h').write_text(files[f'{name}.h'])
    generator = casadi.CodeGenerator(f'{name}_casadi.c')
    made = casadi_functions.functions(robot.model, name)
    for each in made:
        generator.add(each)
    generator.generate(f'{folder}/')
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, STATES, n))
    arguments = dict(zip(('q', 'qd', 'qdd'), states, strict=True))
    text = SOURCE.format(
        arm=name,
        n=n,
        iw=max(each.sz_iw() for each in made),
        w=max(each.sz_w() for each in made),
        states='\n'.join(_array(key, values) for key, values in arguments.items()),
        comparisons=''.join(
            COMPARISON.format(
                arm=name,
                function=function,
                given=', '.join(f'{key}[i]' for key in list(arguments)[:count]),
                size=n * n if function == 'mass_matrix' else n,
                states=STATES,
                rounds=ROUNDS,
                calls=CALLS,
            )
            for function, count in FUNCTIONS.items()
        ),
    )
    source = folder / f'compare_{name}.c'
    source.write_text(text)
    return source


def _array(name: str, values: np.ndarray) -> str:
    rows = ', '.join('{' + ', '.join(map(repr, row.tolist())) + '}' for row in values)
    return f'static const double {name}[{len(values)}][{values.shape[1]}] = {{{rows}}};'


def measure(compiler: str, flags: str, source: Path) -> list[Row]:
    """Compile and run a comparison."""
    program = source.with_suffix('')
    command = [compiler, '-std=gnu99', '-w', *flags.split(), str(source)]
    subprocess.run([*command, '-o', str(program), '-lm'], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return [Row(line[0], *map(float, line[1:])) for line in map(str.split, printed.splitlines())]


def main() -> int:
    """Measure and print; return 1 if results disagree, 2 if something is not installed."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.exported_casadi')
    parser.add_argument('--robots', nargs='+', default=ARMS, help='default: %(default)s')
    robots = [find(name) for name in parser.parse_args().robots]
    found = [name for name in COMPILERS if shutil.which(name)][:2]
    try:
        import casadi
    except ImportError:
        print('not measured: CasADi is not installed (pip install casadi)', file=sys.stderr)
        return 2
    if not found:
        print(f'not measured: none of {", ".join(COMPILERS)} is installed', file=sys.stderr)
        return 2
    cells, worst = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        sources = [write(Path(folder), robot) for robot in robots]
        for compiler in found:
            for flags in FLAGS:
                for robot, source in zip(robots, sources, strict=True):
                    rows = measure(compiler, flags, source)
                    worst = max(worst, *(row.error for row in rows))
                    figures = [f'{row.ours:.0f} {row.casadi / row.ours:.1f}x' for row in rows]
                    cells.append([f'{robot.name}, {version(compiler)} `{flags}`', *figures])
    print(
        f'ns of the exported header, and the ratio of the C of CasADi {casadi.__version__} to it\n'
    )
    print(table(['', *(name.replace('_', ' ') for name in FUNCTIONS)], cells))
    print(f'\nlargest difference: {worst:.1g} of the largest entry')
    return int(not worst < AGREEMENT)


if __name__ == '__main__':
    sys.exit(main())
