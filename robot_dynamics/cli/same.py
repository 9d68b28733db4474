# SPDX-License-Identifier: Apache-2.0
"""The verb `same`: what differs between two descriptions of one robot."""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path

from robot_dynamics.check.sameness import Sameness, same
from robot_dynamics.cli.options import add_gravity, add_robot, gravity_in_base, mounting, new_file
from robot_dynamics.cli.output import read_robot
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.findings import Finding
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.reporting.numbers import plural
from robot_dynamics.common.reporting.tables import print_table

MAX_JOINTS = 3  # of one kind without torque; --json lists all


def add_same_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `same`."""
    add_robot(parser)
    add_gravity(parser)
    add = parser.add_argument
    add(
        'other',
        type=Path,
        help='the second description, as the first; a .xacro gets the same name:=value',
    )
    add(
        '--joints',
        nargs='+',
        default=[],
        metavar='A=B',
        help='joints of the two that are one (by name, words of names, or tree order)',
    )
    add('--json', type=new_file, metavar='FILE', help='write all findings')


def same_robot(options: argparse.Namespace) -> int:
    """Print what differs between two descriptions of one robot, and the gravity torque it costs.

    Exit code 0: they are the same, 1: they differ, 3: they are not one robot.
    """
    joints = dict(_pair(word) for word in options.joints)
    chosen = {'gravity': gravity_in_base(options)} if mounting(options) else {}
    second = argparse.Namespace(
        robot=options.other,
        xacro_arguments=options.xacro_arguments if options.other.suffix == '.xacro' else {},
        package_path=options.package_path,
    )
    found = same(read_robot(options, **chosen), read_robot(second, **chosen), joints)
    _print(found)
    if options.json:
        write_json(options.json, found.to_json())
    return found.exit_code


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
