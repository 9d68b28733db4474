# SPDX-License-Identifier: Apache-2.0
"""The verb `same`: what differs between two descriptions of one robot."""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from robot_dynamics.check.sameness import Sameness, same
from robot_dynamics.cli.options import add_gravity, add_robot, gravity_in_base, mounting, new_file
from robot_dynamics.cli.output import concise_warnings, read_robot
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.findings import Finding
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.reporting.numbers import plural
from robot_dynamics.common.reporting.tables import print_table
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.urdf.loading import is_mjcf
from robot_dynamics.urdf.mjcf.as_urdf import ARGUMENTS, robot_with_arguments
from robot_dynamics.urdf.robot_files import named

MAX_JOINTS = 3  # of one kind without torque; --json lists all


def add_same_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `same`."""
    add_robot(parser)
    add_gravity(parser)
    add = parser.add_argument
    add(
        'other',
        type=Path,
        help='the second description; a .xacro or MJCF file gets the same name:=value',
    )
    add(
        '--joints',
        nargs='+',
        default=[],
        metavar='A=B',
        help='pairs of corresponding joints (by name, words of names, or tree order)',
    )
    add('--json', type=new_file, metavar='FILE', help='write all findings')


def same_robot(options: argparse.Namespace) -> int:
    """Print how two descriptions of one robot differ, and the change of the gravity torques.

    Exit code 0: they are the same robot. 1: they differ. 3: the joints do not correspond.
    """
    joints = dict(_pair(word) for word in options.joints)
    (first, of_a), (second, of_b) = (
        _model(one, _arguments(one, other, options.xacro_arguments), options)
        for one, other in (
            (options.robot, options.other),
            (options.other, options.robot),
        )
    )
    found = same(first, second, joints)
    # What a model lacks is not compared: a remark, in the JSON file as well.
    lacking = (f'of {x}: {sentence}' for x, of in (('A', of_a), ('B', of_b)) for sentence in of)
    found = replace(found, remarks=(*found.remarks, *lacking))
    _print(found)
    if options.json:
        write_json(options.json, found.to_json())
    return found.exit_code


def _arguments(one: Path, other: Path, given: dict[str, str]) -> dict[str, str]:
    """Return the arguments of one description: those that only the other takes are left out."""
    kinds = [_kind(one), _kind(other)]
    if not kinds[0]:
        return {} if kinds[1] else given  # rejected, where neither takes any
    if '' in kinds or kinds[0] == kinds[1]:
        return given
    return {name: x for name, x in given.items() if (name in ARGUMENTS) == (kinds[0] == 'mjcf')}


def _kind(file: Path) -> str:
    """Return which kind of arguments a description takes, '' for none."""
    return 'xacro' if file.suffix == '.xacro' else 'mjcf' * is_mjcf(file)


def _model(
    file: Path, arguments: dict[str, str], options: argparse.Namespace
) -> tuple[RobotModel, list[str]]:
    """Return a robot, and what the model leaves out of an MJCF file.

    Its gravity is that of the options, else of an MJCF file, else the standard one.
    """
    chosen = {'gravity': gravity_in_base(options)} if mounting(options) else {}
    if _kind(file) == 'mjcf':
        with concise_warnings(), named(file):
            robot = robot_with_arguments(file, arguments)
        gravity = chosen.get('gravity', robot.model.gravity)
        return robot.model.with_gravity(gravity), list(robot.remarks.sentences())
    one = argparse.Namespace(
        robot=file, xacro_arguments=arguments, package_path=options.package_path
    )
    return read_robot(one, limited=False, **chosen), []


def _pair(word: str) -> tuple[str, str]:
    first, sign, second = word.partition('=')
    if not (first and sign and second):
        raise ModelError(f'--joints has {word}; expected A=B, names of joints of the two robots')
    return first, second


def _print(found: Sameness) -> None:
    a, b = found.names
    if found.other:
        print(f'not one robot: {a} and {b}: {found.other}')
        return
    print(f'A: {a}, B: {b}, {plural(len(found.joints), "joint")} compared')
    for remark in found.remarks:
        print(f'remark: {remark}')
    for _, group in groupby(found.findings, key=_heading):
        for line in _lines(list(group)):
            print(line)
    if found.findings:
        _print_torques(found)
    count = plural(len(found.findings), 'difference')
    print(f'differ: {count}; values are of A / B' if found.findings else 'same')


def _heading(finding: Finding) -> tuple[str, str]:
    """Return what findings in one group have in common; those with a size are alone."""
    return (finding.kind, '') if finding.size is None else (finding.kind, finding.subject)


def _lines(group: list[Finding]) -> list[str]:
    shown = group[:MAX_JOINTS]
    lines = [f'DIFFERS {one.kind} {one.subject}: {one.words}' for one in shown]
    if more := group[MAX_JOINTS:]:
        lines.append(f'  ... likewise {", ".join(one.subject for one in more)}')
    return lines


def _print_torques(found: Sameness) -> None:
    print_table(
        ('joint', 'gravity torque differs by', 'of', 'inertia by'),
        [
            (name, f'{difference:.3g}', f'{torque:.3g} {unit}', f'{100 * inertia:.2g} %')
            for name, difference, torque, unit, inertia in zip(
                found.joints,
                found.torque_difference,
                found.torque,
                found.units,
                found.inertia_difference,
                strict=True,
            )
        ],
    )
