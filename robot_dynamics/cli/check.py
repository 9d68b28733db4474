# SPDX-License-Identifier: Apache-2.0
"""The verb `check`: contents and faults of a robot description."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from robot_dynamics.cli.options import add_package_path, add_robot, new_file, new_picture
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.files import write_file
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.reporting.figures import save
from robot_dynamics.reporting.json_files import write_json
from robot_dynamics.reporting.numbers import plural
from robot_dynamics.reporting.tables import print_table
from robot_dynamics.urdf_check.examination import Examination, examine
from robot_dynamics.urdf_check.findings import KINDS, Finding, short
from robot_dynamics.urdf_check.picture import draw

MAX_LINES = 12  # of one kind; --json lists all
LABELS = {'error': 'ERROR', 'warning': 'WARNING', 'info': 'info'}
FAULTY = 1  # exit code


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    add_robot(parser)
    parser.add_argument('--strict', action='store_true', help='warnings are errors: exit code 1')
    parser.add_argument('--json', type=new_file, metavar='FILE', help='write all findings')
    parser.add_argument(
        '--fix', type=new_file, metavar='OUT.urdf', help='write the description with its repairs'
    )
    parser.add_argument(
        '--only',
        action='append',
        choices=sorted(KINDS),
        metavar='KIND',
        help='repair findings of this kind only (repeatable); for kinds see docs/guides/check.md',
    )
    parser.add_argument(
        '--reference',
        metavar='URDF',
        help='compare joints and links with those of the same names in this description',
    )
    add_package_path(parser)
    parser.add_argument(
        '--picture',
        type=new_picture,
        metavar='FILE',
        help='draw the links with the ellipsoids of their inertias',
    )


def check(options: argparse.Namespace) -> int:
    """Print joints, limits and masses of a robot description, its faults and their repairs."""
    if options.only and not options.fix:
        raise RobotDynamicsError('--only chooses the repairs of --fix; expected --fix OUT.urdf')
    examination = examine(options.robot, options.package_path, options.reference)
    if examination.robot.model is not None:
        _print_model(examination.robot.model)
    _print_findings(examination)
    if options.json:
        write_json(options.json, examination.to_json())
    if options.fix:
        repaired, done = examination.repaired(options.only)
        write_file(options.fix, repaired)
        what = 'the URDF expanded from xacro' if examination.expanded else 'the description'
        print(f'{options.fix}: {what} with {plural(len(done), "repair")}')
    if options.picture:
        save(draw(examination), options.picture)
    severities = {finding.severity for finding in examination.findings}
    rejected = {'error', 'warning'} if options.strict else {'error'}
    return FAULTY if severities & rejected else 0


# -- the model ---------------------------------------------------------------------------------


def _print_model(model: RobotModel) -> None:
    parts = plural(model.n, 'joint'), plural(model.nb, 'moving body', 'moving bodies')
    print(f'{model.name}: {", ".join(parts)} of {model.mass.sum():.4g} kg')
    limits = (model.lower, model.upper, model.velocity_limit, model.effort_limit)
    numbers = np.stack([*limits, model.viscous, model.coulomb], axis=1)
    print_table(
        ('joint', 'kind', 'lower', 'upper', 'velocity', 'effort', 'viscous', 'dry friction'),
        [
            (name, kind, *map(short, row))
            for name, kind, row in zip(model.joint_names, _kinds(model), numbers, strict=True)
        ],
    )
    parents = [model.body_names[parent] if parent >= 0 else 'base' for parent in model.parent]
    bodies = zip(model.body_names, parents, model.mass, model.com, strict=True)
    print_table(
        ('moving body', 'parent', 'mass', 'centre of mass'),
        [(name, at, short(mass), short(com)) for name, at, mass, com in bodies],
    )
    print()


def _kinds(model: RobotModel) -> list[str]:
    """Return the joint type of each coordinate, as in a URDF."""
    rotates = model.angular
    limited = np.isfinite(model.lower) | np.isfinite(model.upper)
    return [
        'prismatic' if not rotation else 'revolute' if limit else 'continuous'
        for rotation, limit in zip(rotates, limited, strict=True)
    ]


# -- the findings ------------------------------------------------------------------------------


def _print_findings(examination: Examination) -> None:
    """Print the findings grouped by severity and kind, and a summary."""
    if examination.expanded:
        print('the xacro file was expanded; findings and --fix are of the expanded URDF')
    found = sorted(examination.findings, key=_group)
    for (_, _, kind), group in groupby(found, key=_group):
        for line in _lines(kind, list(group)):
            print(line)
    counts = [
        (sum(f.severity == severity for f in found), label)
        for severity, label in (('error', 'error'), ('warning', 'warning'), ('info', 'remark'))
    ]
    repairs = sum(bool(f.repair) for f in found)
    hint = f'; {repairs} with a repair, which --fix OUT.urdf applies' if repairs else ''
    print(', '.join(plural(count, label) for count, label in counts) + hint)


def _group(finding: Finding) -> tuple[int, int, str]:
    severities, kinds = list(LABELS), list(KINDS)
    return severities.index(finding.severity), kinds.index(finding.kind), finding.kind


def _lines(kind: str, group: list[Finding]) -> Iterator[str]:
    """Yield the lines of the findings of one kind and severity."""
    severity = group[0].severity
    yield f'{LABELS[severity]} {kind} ({group[0].tier}): {KINDS[kind].why}'
    if kind == 'cannot-tell':
        for message in dict.fromkeys(f.message for f in group):
            names = [f.element for f in group if f.message == message]
            yield f'  {message}: {", ".join(names)}'
        return
    if severity == 'info' and len(group) > 1:
        names = list(dict.fromkeys(f.element for f in group))
        more = f', ... ({len(names)} in all)' if len(names) > MAX_LINES else ''
        yield (
            f'  {group[0].message}'
            if len({f.message for f in group}) == 1
            else (f'  such as: {group[0].message}')
        )
        yield f'  {", ".join(names[:MAX_LINES])}{more}'
        return
    for finding in group[:MAX_LINES]:
        yield f'  {finding.element}: {finding.message}{_repair(finding)}'
    if len(group) > MAX_LINES:
        yield f'  ... and {len(group) - MAX_LINES} more, which --json lists'


def _repair(finding: Finding) -> str:
    if not finding.repair:
        return ''
    shown = [
        f'{r.attribute} {"none" if r.old is None else short(r.old)} -> {short(r.new)}'
        for r in finding.repair[:2]
    ]
    more = f' and {len(finding.repair) - 2} more' if len(finding.repair) > 2 else ''
    return f' [repair: {", ".join(shown)}{more}]'
