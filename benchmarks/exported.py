# SPDX-License-Identifier: Apache-2.0
"""Exported functions in C beside Pinocchio in C++: `python -m benchmarks.exported`.

Both are compiled by the same compilers with the same flags; each ratio is the worse of theirs.
Headers of Pinocchio come with its wheel (pin), those of Eigen from the system (libeigen3-dev).
Compiling takes minutes. `terms` is also compared with the machine code of the library.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from benchmarks.report import table
from benchmarks.robots import Robot, find
from robot_dynamics.codegen.calls.kernels import MachineKernels
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.export.c_header import c_files
from robot_dynamics.export.functions import functions

ARMS = ('ur5', 'kuka_iiwa', 'panda')
# Least ratios that are wanted: of calls after themselves, and of cold ones.
WANTED = {
    'inverse_dynamics': 6.0,
    'mass_matrix': 4.0,
    'gravity_torque': 4.0,
    'terms': 4.0,
    'forward_dynamics': 6.0,
}
COLD = 4.0
LIBRARY = 1.3  # most that `terms` takes, by the machine code of the library
CALLS, ROUNDS = 2000, 30  # of that comparison
COMPILERS = ('g++', 'clang++', 'clang++-14')
FLAGS = ('-O3 -march=native', '-O2')
# The definitions of Pinocchio's CMake target.
DEFINITIONS = (
    '-DBOOST_MPL_LIMIT_LIST_SIZE=30',
    '-DBOOST_MPL_LIMIT_VECTOR_SIZE=30',
    '-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS',
    '-DBOOST_FUSION_INVOKE_MAX_ARITY=12',
)
EIGEN = ('/usr/include/eigen3', '/usr/local/include/eigen3')


class HeadersMissing(Exception):  # noqa: N818  (the name is sufficient)
    """A library or compiler for the comparison is not installed."""


class Row(NamedTuple):
    """Nanoseconds of a function in C and in Pinocchio, after themselves and cold."""

    arm: str
    function: str
    hot: float
    hot_pinocchio: float
    cold: float
    cold_pinocchio: float

    @property
    def ratios(self) -> tuple[float, float]:
        """Pinocchio's time by that of C: hot and cold."""
        return self.hot_pinocchio / self.hot, self.cold_pinocchio / self.cold


def includes() -> list[Path]:
    """Return the folders of the headers of Pinocchio and Eigen.

    Raises:
        HeadersMissing: one is not installed.
    """
    prefixes = [parent / 'include' for parent in Path(pin.__file__).parents]
    found = []
    for header, what, folders in (
        ('pinocchio/multibody.hpp', 'Pinocchio 4 (pip install pin)', prefixes),
        ('Eigen/Core', 'Eigen (libeigen3-dev)', [*map(Path, EIGEN), *prefixes]),
    ):
        places = [folder for folder in folders if (folder / header).is_file()]
        if not places:
            raise HeadersMissing(f'no header {header} of {what} is installed')
        found.append(places[0])
    return found


def compilers() -> list[str]:
    """Return the C++ compilers of this machine, one of each kind.

    Raises:
        HeadersMissing: none is installed.
    """
    found = [name for name in COMPILERS if shutil.which(name)]
    if not found:
        raise HeadersMissing(f'none of {", ".join(COMPILERS)} is installed')
    return found[: found.index('clang++') + 1] if 'clang++' in found else found


def pinocchio_model(robot: Robot) -> str:
    """Return a function in C++ that builds the model as Pinocchio read it from the URDF.

    Raises:
        ValueError: a joint is not about or along an axis of its frame.
    """
    model = pin.buildModelFromXML(robot.urdf)
    if list(model.names)[1:] != list(robot.model.joint_names):
        raise ValueError(f'joints of {robot.name} are {list(model.names)[1:]} in Pinocchio')
    lines = [
        f'inline pinocchio::Model model_{robot.name}() {{',
        'using namespace pinocchio; Model m; Eigen::Matrix3d R, I; Eigen::Vector3d p, c;',
        f'm.gravity.linear() << {_numbers(robot.model.gravity)};',
    ]
    for j in range(1, model.njoints):
        place, inertia = model.jointPlacements[j], model.inertias[j]
        kind = model.joints[j].shortname()
        argument = ''
        if kind.endswith('Unaligned'):
            axis = _numbers(np.array(robot.model.axis[j - 1]))
            argument = f'Eigen::Vector3d({axis})'
        elif kind[len('JointModel') :] not in ('RX', 'RY', 'RZ', 'PX', 'PY', 'PZ'):
            raise ValueError(f'joint {model.names[j]!r} is a {kind}; expected one of one axis')
        lines += [
            f'R << {_numbers(place.rotation)}; p << {_numbers(place.translation)};',
            f'I << {_numbers(inertia.inertia)}; c << {_numbers(inertia.lever)};',
            f'm.appendBodyToJoint(m.addJoint({model.parents[j]}, {kind}({argument}), SE3(R, p), '
            f'"j{j}"), Inertia({float(inertia.mass)!r}, c, I), SE3::Identity());',
        ]
    return '\n'.join([*lines, 'return m;', '}'])


def _numbers(values: object) -> str:
    return ', '.join(repr(float(x)) for x in np.asarray(values).ravel())


def write(folder: Path, names: Sequence[str]) -> None:
    """Write the headers of arms, their models in Pinocchio, and arms.h that includes them."""
    models = []
    for name in names:
        robot = find(name)
        arm = Dynamics(robot.model)
        files = c_files(
            arm, functions(arm, list(WANTED)), name, 'double', version='', self_test=False
        )
        (folder / f'{name}.h').write_text(files[f'{name}.h'])
        models.append(pinocchio_model(robot))
    listed = ' '.join(f'X({name})' for name in names)
    heads = [f'#include "{name}.h"' for name in names]
    text = '\n'.join([*heads, *models, f'#define ARMS(X) {listed}', ''])
    (folder / 'arms.h').write_text(text)


def compile_cpp(compiler: str, flags: str, folder: Path) -> Path:
    """Compile the comparison and return its path."""
    target = folder / f'{compiler}{flags.replace(" ", "")}'
    system = [word for path in includes() for word in ('-isystem', str(path))]
    source = Path(__file__).with_suffix('.cpp')
    # gcc warns of Eigen's stores for hundreds of lines.
    command = [compiler, '-std=c++17', '-w', '-DNDEBUG', *flags.split(), *DEFINITIONS, *system]
    subprocess.run([*command, '-I', str(folder), str(source), '-o', str(target)], check=True)
    return target


def measure(program: Path) -> list[Row]:
    """Run a comparison."""
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    *lines, _ = [line.split() for line in printed.splitlines()]
    return [Row(arm, function, *map(float, times)) for arm, function, *times in lines]


TIMER = """\
#include "{arm}.h"
#include <time.h>
typedef void Terms(const double *, const double *, double *, double *, double *);
void terms(const double *q, const double *qd, double *M, double *C, double *g) {{
    {arm}_terms(q, qd, M, C, g);
}}
double seconds(Terms *f, const double *q, const double *qd, double *M, double *C, double *g) {{
    struct timespec a, b;
    int i;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (i = 0; i < {calls}; ++i) f(q, qd, M, C, g);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}}
"""


def beside_the_library(compiler: str, flags: str, name: str, folder: Path) -> tuple[float, float]:
    """Return nanoseconds of `terms` in C and in the machine code of the library."""
    source, target = folder / f'terms_{name}.c', folder / f'terms_{name}_{compiler}.so'
    source.write_text(TIMER.format(arm=name, calls=CALLS))
    c = compiler.replace('clang++', 'clang').replace('g++', 'gcc')
    options = ['-D_POSIX_C_SOURCE=199309L', '-shared', '-fPIC']
    subprocess.run(
        [c, '-std=c99', *flags.split(), *options, str(source), '-o', str(target)], check=True
    )
    library = ctypes.CDLL(str(target))
    library.seconds.restype = ctypes.c_double
    made = Dynamics(find(name).model).program('terms')
    kernels = made.kernels
    if not isinstance(kernels, MachineKernels):
        raise HeadersMissing('the library has no machine code here: llvmlite is not installed')
    n = made.signature.inputs[0][1]
    q, qd = np.random.default_rng(0).uniform(-1.0, 1.0, (2, n))
    results = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (q, qd, *results)]
    sides = ctypes.cast(library.terms, ctypes.c_void_p).value, kernels.sample_address
    rounds = [
        [library.seconds(ctypes.c_void_p(side), *pointers) for side in sides]
        for _ in range(ROUNDS)
    ]
    in_c, own = 1e9 / CALLS * np.min(rounds, axis=0)
    return float(in_c), float(own)


def main() -> int:
    """Measure and print; return 1 if a wanted ratio is missed, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.exported')
    parser.add_argument('--robots', nargs='+', default=ARMS, help='default: %(default)s')
    robots = parser.parse_args().robots
    try:
        found, _ = compilers(), includes()
    except HeadersMissing as error:
        print(f'not measured: {error}', file=sys.stderr)
        return 2
    worst: dict[tuple[str, str], list[tuple[float, float]]] = {}
    library = []
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        write(folder, robots)
        for compiler in found:
            for flags in FLAGS:
                rows = measure(compile_cpp(compiler, flags, folder))
                print(f'\n{version(compiler)}, {flags}\n\n{shown(rows)}', flush=True)
                for row in rows:
                    worst.setdefault((row.arm, row.function), []).append(row.ratios)
            for name in robots:
                times = beside_the_library(compiler, FLAGS[0], name, folder)
                library.append((version(compiler), name, *times))
    lowest = {key: np.min(ratios, axis=0) for key, ratios in worst.items()}
    cells = [
        [arm, function, *(f'{x:.1f}' for x in ratios), verdict(function, *ratios)]
        for (arm, function), ratios in lowest.items()
    ]
    heads = ['', 'worst of all compilers and flags', 'hot', 'cold', '']
    print(f'\n{table(heads, cells)}\n')
    cells = [
        [compiler, name, f'{c:.0f}', f'{own:.0f}', f'{c / own:.2f}']
        for compiler, name, c, own in library
    ]
    print(table([f'terms, {FLAGS[0]}', '', 'C, ns', 'library, ns', 'ratio'], cells))
    missed = any(verdict(function, *ratios) for (_, function), ratios in lowest.items())
    return int(missed or any(c > LIBRARY * own for *_, c, own in library))


def shown(rows: Sequence[Row]) -> str:
    """Return the figures of one compiler with its flags as a table."""
    heads = ['ns', '', 'C', 'Pinocchio', 'ratio', 'cold: C', 'Pinocchio', 'ratio']
    cells = []
    for row in rows:
        times = [f'{x:.0f}' for x in row[2:]]
        hot, cold = (f'{x:.1f}' for x in row.ratios)
        cells.append([row.arm, row.function, *times[:2], hot, *times[2:], cold])
    return table(heads, cells)


def verdict(function: str, hot: float, cold: float) -> str:
    """Return which wanted ratios are missed."""
    missed = [f'hot below {WANTED[function]:g}'] if hot < WANTED[function] else []
    return ', '.join(missed + ([f'cold below {COLD:g}'] if cold < COLD else []))


def version(compiler: str) -> str:
    """Return the name and version of a compiler."""
    command = [compiler, '-dumpversion']
    return f'{compiler} {subprocess.run(command, capture_output=True, text=True).stdout.strip()}'


if __name__ == '__main__':
    sys.exit(main())
