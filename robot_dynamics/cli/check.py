# SPDX-License-Identifier: Apache-2.0
"""The verb `check`: contents and faults of a robot description."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from robot_dynamics.check.examination import Examination, examine, parsed
from robot_dynamics.check.findings import KINDS, Fault, short
from robot_dynamics.check.gravity_rules import gravity_torques
from robot_dynamics.check.picture import draw
from robot_dynamics.cli.options import (
    add_gravity,
    add_robot,
    gravity_in_base,
    new_file,
    new_picture,
    number,
)
from robot_dynamics.cli.output import concise_warnings, gravity_remark
from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.files import write_file
from robot_dynamics.common.reporting.figures import save
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.reporting.numbers import plural
from robot_dynamics.common.reporting.tables import print_table
from robot_dynamics.core.kinematics import unloaded_by_gravity
from robot_dynamics.core.model.robot_model import RobotModel

MAX_LINES = 12  # of one kind; --json lists all
LABELS = {'error': 'ERROR', 'warning': 'WARNING', 'info': 'info'}
FAULTY = 1  # exit code
# What a remark on something unchecked is about, by the slip that would not be found.
UNCHECKED = {
    'origin-unit': ('unit of', 'joint origin'),
    'rpy-degrees': ('rad or degrees of', 'joint origin'),
    'joint-flipped': ('sign of', 'joint axis', 'joint axes'),
    'mass-unit': ('kg or pounds of', 'mass', 'masses'),
    'com-sign': ('sign of', 'centre of mass', 'centres of mass'),
}
RANGE_SHARES = (0.25, 0.5, 0.75)  # of the position ranges: postures of --fix


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    add_robot(parser)
    add_gravity(parser)
    parser.add_argument('--strict', action='store_true', help='warnings are errors: exit code 1')
    parser.add_argument('--json', type=new_file, metavar='FILE', help='write all findings')
    parser.add_argument(
        '--fix',
        type=new_file,
        metavar='OUT.urdf',
        help='write the description with all repairs that are proved',
    )
    parser.add_argument(
        '--only',
        action='append',
        choices=sorted(KINDS),
        metavar='KIND',
        help='apply only the repairs of this kind, proved or not (repeatable); '
        'docs/guides/check.md lists the kinds',
    )
    parser.add_argument(
        '--weight',
        type=number(above=0.0),
        metavar='KG',
        help='compare the sum of the masses with the weight on the data sheet',
    )
    parser.add_argument(
        '--reference',
        metavar='URDF',
        help='compare joints and links with those of the same names in this description',
    )
    words = 'find what other programs read differently, or reject'
    parser.add_argument('--portable', action='store_true', help=words)
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
    with concise_warnings():
        examination = examine(
            options.robot,
            options.package_path,
            options.reference,
            options.weight,
            options.xacro_arguments,
            options.portable,
            gravity_in_base(options),
        )
    if examination.robot.model is not None:
        _print_model(examination.robot.model.with_gravity(gravity_in_base(options)))
    _print_findings(examination)
    if options.json:
        write_json(options.json, examination.to_json())
    if options.fix:
        _fix(examination, options)
    if options.picture:
        save(draw(examination), options.picture)
    severities = {finding.severity for finding in examination.findings}
    rejected = {'error', 'warning'} if options.strict else {'error'}
    return FAULTY if severities & rejected else 0


def _fix(examination: Examination, options: argparse.Namespace) -> None:
    """Write the repaired description, and print what it changes of the gravity torques."""
    if not examination.robot.links:
        print(f'{options.fix}: not written; there is no robot to repair')
        return
    repaired, done = examination.repaired(options.only)
    write_file(options.fix, repaired)
    what = 'the URDF made from it' if examination.expanded else 'the description'
    nothing = '' if done else 'nothing to repair; '
    print(f'{options.fix}: {nothing}{what} with {plural(len(done), "repair")}')
    for finding in done:
        print(f'  {finding.kind} {finding.element}{_repair(finding)}')
    before = examination.robot.model
    if not done or before is None:
        return
    old, new = (
        gravity_torques(model.with_gravity(gravity_in_base(options)), RANGE_SHARES)
        for model in (before, parsed(repaired))
    )
    print('gravity torques before and after, at shares of the position ranges:')
    print_table(
        ('joint', *(f'{100 * share:g} %' for share in RANGE_SHARES)),
        [
            (name, *(_changed(a, b) for a, b in zip(was, now, strict=True)))
            for name, was, now in zip(before.joint_names, old.T, new.T, strict=True)
        ],
    )


def _changed(before: float, after: float) -> str:
    old, new = short(before + 0.0), short(after + 0.0)
    return old if old == new else f'{old} -> {new}'


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
    if unloaded_by_gravity(model).all() and model.gravity.any():
        print(gravity_remark(model))
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
    """Print the findings grouped by severity and kind, a summary, and what cannot be checked."""
    if examination.expanded:
        print('findings and --fix are of the URDF that the xacro or MJCF file becomes')
    kinds = 'cannot-tell', 'not-checked'
    unchecked = [f for f in examination.findings if f.kind in kinds]
    found = sorted((f for f in examination.findings if f.kind not in kinds), key=_group)
    for (_, _, kind), group in groupby(found, key=_group):
        for line in _lines(kind, list(group)):
            print(line)
    counts = [
        (sum(f.severity == severity for f in found), label)
        for severity, label in (('error', 'error'), ('warning', 'warning'), ('info', 'remark'))
    ]
    applied = sum(f.applied for f in found)
    hint = f'; {applied} with a repair, which --fix OUT.urdf applies' if applied else ''
    if named := sorted({f.kind for f in found if f.repair and not f.applied}):
        hint += f'; repairs that are not proved need their kind, --only {" or ".join(named)}'
    faults = [plural(count, label) for count, label in counts if count]
    if all(f.severity == 'info' for f in found):
        faults = ['no faults found', *faults]
    print(', '.join(faults) + hint + _unchecked(unchecked))


def _unchecked(remarks: list[Fault]) -> str:
    """Return what cannot be checked, '' if everything can."""
    slips = Counter(f.slips[0] for f in remarks if f.kind == 'cannot-tell')
    things = [
        f'{of} {plural(slips[slip], *nouns)}'
        for slip, (of, *nouns) in UNCHECKED.items()
        if slips[slip]
    ]
    bare = [f for f in remarks if f.kind == 'not-checked']
    reasons = dict.fromkeys(f.message.partition(': ')[2] for f in bare)
    if bare:
        things.append(f'mass and tensor of {plural(len(bare), "link")} ({"; ".join(reasons)})')
    if not things:
        return ''
    count = plural(len(things), 'thing')
    return f'; {count} cannot be checked without --reference OTHER.urdf: {", ".join(things)}'


def _group(finding: Fault) -> tuple[int, int, str]:
    severities, kinds = list(LABELS), list(KINDS)
    return severities.index(finding.severity), kinds.index(finding.kind), finding.kind


def _lines(kind: str, group: list[Fault]) -> Iterator[str]:
    """Yield the lines of the findings of one kind and severity."""
    severity = group[0].severity
    yield f'{LABELS[severity]} {kind} ({group[0].tier}): {KINDS[kind].why}'
    if severity == 'info' and len(group) > 1 and not any(f.repair for f in group):
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


def _repair(finding: Fault) -> str:
    if not finding.repair:
        return ''
    shown = [
        f'{r.attribute} {"none" if r.old is None else short(r.old)} -> {short(r.new)}'
        for r in finding.repair[:2]
    ]
    more = f' and {len(finding.repair) - 2} more' if len(finding.repair) > 2 else ''
    by = '' if finding.applied else f' by --only {finding.kind}'
    return f' [repair{by}: {", ".join(shown)}{more}]'
