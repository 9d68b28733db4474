# SPDX-License-Identifier: Apache-2.0
"""The verb `export`: functions of a robot as source code for controllers in other languages."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics import __version__
from robot_dynamics.cli.options import (
    add_gravity,
    add_robot,
    gravity_in_base,
    mounting,
    new_folder,
)
from robot_dynamics.cli.output import read_robot, robot_text
from robot_dynamics.codegen.backends.c import FORMATS
from robot_dynamics.common.files import write_files
from robot_dynamics.common.reporting.tables import print_table
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.export.c_header import c_files, identifier
from robot_dynamics.export.casadi_source import casadi_files
from robot_dynamics.export.cuda_source import cuda_files
from robot_dynamics.export.functions import FUNCTIONS, VARIABLE, ExportError, functions
from robot_dynamics.export.nvrtc import compiled
from robot_dynamics.export.ros2_control.package_files import ros2_control_files

# Options that a language does not have.
WITHOUT = {
    'c': ('--compile', '--with-simulation'),
    'casadi': (
        *('--scalar float', '--variable', '--loops', '--self-test', '--compile'),
        '--with-simulation',
    ),
    'cuda': ('--loops', '--self-test', '--with-simulation'),
    'ros2_control': (
        *('--functions', '--frame', '--scalar float', '--variable', '--loops', '--self-test'),
        '--compile',
    ),
}


def add_export_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    add_robot(parser)
    add_gravity(parser)
    _add_source_code(parser)
    _add_variants(parser)
    parser.add_argument(
        '--compile',
        metavar='ARCHITECTURE',
        help='of a CUDA device, such as sm_90: compile by NVRTC, print registers and spills',
    )


def _add_source_code(parser: argparse.ArgumentParser) -> None:
    """Add the options of what is written: language, functions, type of numbers, names."""
    add = parser.add_argument
    add(
        '--language',
        choices=tuple(WITHOUT),
        required=True,
        help='of the source code: C99, also C++17; C99 for CasADi, with Jacobians; CUDA C++; a '
        'package with a controller in C++ for ros2_control',
    )
    add(
        '--functions',
        nargs='+',
        metavar='FUNCTION',
        choices=FUNCTIONS,
        help='methods of Dynamics, required except for ros2_control: ' + ', '.join(FUNCTIONS),
    )
    add('--output', type=new_folder, required=True, metavar='DIR', help='folder of the files')
    add('--scalar', choices=tuple(FORMATS), default='double', help='type of numbers (double)')
    add('--name', help='of the header and its functions (that of the robot)')


def _add_variants(parser: argparse.ArgumentParser) -> None:
    """Add the options of how the functions are written."""
    add = parser.add_argument
    add('--frame', help='of the functions that are computed at a frame')
    add(
        '--variable',
        nargs='+',
        default=(),
        choices=tuple(VARIABLE),
        help='what becomes an input of the functions that depend on it',
    )
    add(
        '--payload-link',
        metavar='LINK',
        help='link that carries the variable payload; for ros2_control --tip-link or the last '
        'moving one if not given',
    )
    add('--tip-link', metavar='LINK', help='keep only the joints that move it (all)')
    add(
        '--loops',
        action='store_true',
        help='over the joints, where functions can be written so: less code, faster when it is '
        'not in the cache; for long chains',
    )
    add('--self-test', action='store_true', help='write a program that tests the functions')
    add(
        '--with-simulation',
        action='store_true',
        help='of ros2_control: with a simulated arm as hardware and a launch file that moves it',
    )


def export(options: argparse.Namespace) -> int:
    """Write functions of a robot for C, CasADi or CUDA, or a package for ros2_control."""
    _check_options(options)
    model = read_robot(options, gravity=gravity_in_base(options), tip_link=options.tip_link)
    arm = Dynamics(model)
    name = identifier(arm.model.name) if options.name is None else options.name
    texts = _texts(options, arm, name)
    files = {options.output / file: text for file, text in texts.items()}
    _check_settings(files)
    for folder in sorted({options.output, *(file.parent for file in files)}):
        folder.mkdir(parents=True, exist_ok=True)
    write_files(files)
    print(*files, sep='\n')
    if options.compile:
        for file, text in texts.items():
            rows = [
                (kernel, *map(str, occupied))
                for kernel, occupied in compiled(text, file, options.compile).items()
            ]
            print_table(('kernel', 'registers', 'stack, bytes', 'spills, bytes'), rows)
    return 0


def _check_settings(files: dict[Path, str]) -> None:
    """Check that no settings of a controller, which users edit, would be lost.

    Raises:
        ExportError: they would.
    """
    for path, text in files.items():
        if path.name != 'controllers.yaml' or not path.is_file():
            continue
        if path.read_bytes() != text.encode():
            raise ExportError(
                f'{path} has other settings than this export: move it to another name, and copy '
                'what you changed to the new one'
            )


def _texts(options: argparse.Namespace, arm: Dynamics, name: str) -> dict[str, str]:
    """Return the texts of the files by their paths in the folder."""
    if options.language == 'ros2_control':
        link = options.payload_link or options.tip_link or arm.model.moving_links[-1]
        urdf = robot_text(options) if options.with_simulation else None
        return ros2_control_files(arm, name, link, urdf=urdf, version=__version__)
    exported = functions(
        arm,
        options.functions,
        options.frame,
        options.variable,
        options.payload_link,
        loops=options.loops,
    )
    if options.language == 'casadi':
        return casadi_files(arm, exported, name, version=__version__)
    if options.language == 'cuda':
        return cuda_files(arm, exported, name, options.scalar, version=__version__)
    return c_files(
        *(arm, exported, name, options.scalar), version=__version__, self_test=options.self_test
    )


def _check_options(options: argparse.Namespace) -> None:
    given = {
        '--scalar float': options.scalar == 'float',
        '--variable': options.variable,
        '--loops': options.loops,
        '--self-test': options.self_test,
        '--compile': options.compile,
        '--functions': options.functions,
        '--frame': options.frame,
        '--with-simulation': options.with_simulation,
    }
    for option in WITHOUT[options.language]:
        if given[option]:
            raise ExportError(f'{option} is not supported for --language {options.language}')
    if options.functions is None and options.language != 'ros2_control':
        raise ExportError(f'--functions is missing; expected for --language {options.language}')
    for key in {'gravity', 'base'}.intersection(options.variable):
        if mounting(options):
            raise ExportError(
                f'--variable {key} makes gravity an input; expected no --gravity, '
                '--base-orientation'
            )
