# SPDX-License-Identifier: Apache-2.0
"""Kinematic and inertial faults drawn by a seed, on published robots that no other test checks.

Twelve kinds, eight of each. The seeds were fixed before the rules of these kinds were written: one
to write the rules with, the other for the figures of docs/guides/check.md.
"""

from collections import Counter
from typing import NamedTuple

import faults
import numpy as np
import robots
from faults import INERTIA, TENSOR, Numbers

from robot_dynamics.check.examination import examine
from robot_dynamics.core.model.inertia import inconsistency
from robot_dynamics.urdf.editing import Change, edited

DEVELOPMENT, FINAL = 25, 2596
ROBOTS = (
    'alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf',
    'anymal_b_simple_description/robots/anymal.urdf',
    'anymal_c_simple_description/urdf/anymal.urdf',
    'baxter_description/urdf/baxter.urdf',
    'bolt_description/robots/bolt.urdf',
    'centauro_description/urdf/centauro.urdf',
    'finger_edu_description/robots/finger_edu.urdf',
    'human_description/robots/human.urdf',
    'pr2_description/urdf/pr2.urdf',
    'quadruped_description/urdf/quadruped.urdf',
    'romeo_description/urdf/romeo.urdf',
    'so_arm_description/urdf/so101.urdf',
    'solo_description/robots/solo12.urdf',
    'tiago_pro_description/robots/tiago_pro.urdf',
    'ur_description/urdf/ur10_robot.urdf',
    'z1_description/urdf/z1.urdf',
)
EACH = 8
MASS, COM = 'inertial/mass/@value', 'inertial/origin/@xyz'
ORIGIN, TURN = 'origin/@xyz', 'origin/@rpy'
LIGHT, NEAR = 0.005, 0.01  # of the robot's mass; m


# -- the faults ---------------------------------------------------------------------------------


def scaled(path, factor, kind):
    """Return the fault of an attribute times a factor."""

    def fault(text, tag, name, _):
        at = Numbers(text, tag, name)
        new = (np.array(at.get(path)) * factor + 0.0).tolist()
        return at.changed({path: new}, (kind,))

    return fault


def empty_limits(text, tag, name, rng):
    at = Numbers(text, tag, name)
    wrong, right = rng.permutation(['lower', 'upper'])
    return at.changed({f'limit/@{wrong}': at.get(f'limit/@{right}')}, ('limit-empty',))


def exchanged(text, tag, name, rng):
    """Return products in place of moments: exchanged, or six numbers in the order of others."""
    at = Numbers(text, tag, name)
    old = [at.get(INERTIA + key) for key in TENSOR]
    order = [(1, 0, 3, 2, 5, 4), (0, 3, 5, 1, 2, 4)][int(rng.integers(2))]
    new = [old[k] for k in order]
    kinds = ('inertia-permuted', 'inertia-inconsistent')
    values = {INERTIA + key: value for key, value in zip(TENSOR, new, strict=True)}
    return at.changed(values, kinds)


def decimal_comma(text, tag, name, rng):
    at = Numbers(text, tag, name)
    paths = [MASS, COM, INERTIA + 'iyy'] if tag == 'link' else [ORIGIN, 'limit/@upper']
    paths = [p for p in paths if any(abs(x) % 1 for x in np.atleast_1d(at.get(p)))]
    path = paths[int(rng.integers(len(paths)))]
    old = np.atleast_1d(at.get(path))
    k = int(rng.choice([i for i, x in enumerate(old) if abs(x) % 1]))
    mark = 987654321.25
    new = np.where(np.arange(len(old)) == k, mark, old).tolist()
    wrong = edited(text, [Change(tag, name, path, new if len(old) > 1 else new[0])])
    comma = np.format_float_positional(old[k], trim='0').replace('.', ',')
    wrong = wrong.replace(repr(mark).encode(), comma.encode())
    return faults.Fault(wrong, name, ('invalid-element',), {path: at.get(path)})


# -- where they are put -------------------------------------------------------------------------


def joints(robot, _):
    return [
        ('joint', j.name)
        for j in robot.joints.values()
        if j.moves and not j.mimic and j.has_limit and np.isfinite(j.lower) and j.lower < j.upper
    ]


def placed(robot, text):
    return [
        found
        for found in joints(robot, text)
        if np.linalg.norm(robot.joints[found[1]].placement[:3, 3]) > NEAR
    ]


def turned(robot, text):
    return [
        (tag, name)
        for tag, name in joints(robot, text)
        if (e := robot.root.find(f'joint[@name="{name}"]/origin')) is not None
        and np.abs(faults.numbers(e.get('rpy', '0 0 0'))).max() > 0.02
    ]


def links(robot, _):
    total = sum(link.body.mass for link in robot.links.values())
    return [
        ('link', link.name)
        for link in robot.links.values()
        if link.body.mass > LIGHT * total
        and robot.rigid.get(link.name) in robot.inward
        and robot.root.find(f'link[@name="{link.name}"]/inertial/origin') is not None
        and inconsistency(link.body) is None
        and link.body.inertia_com.any()
    ]


def off_axis(robot, text):
    return [f for f in links(robot, text) if np.linalg.norm(robot.links[f[1]].body.com) > NEAR]


def any_element(robot, text):
    return [*placed(robot, text), *off_axis(robot, text)]


DRAWN = {
    'origin in mm': (placed, scaled(ORIGIN, 1e3, 'origin-unit')),
    'origin in cm': (placed, scaled(ORIGIN, 1e2, 'origin-unit')),
    'rpy in degrees': (turned, scaled(TURN, 180 / np.pi, 'rpy-degrees')),
    'lower = upper': (joints, empty_limits),
    'axis negated': (joints, scaled('axis/@xyz', -1, 'joint-flipped')),
    'com negated': (off_axis, scaled(COM, -1, 'com-sign')),
    'com in cm': (off_axis, scaled(COM, 1e2, 'com-unit')),
    'com in inches': (off_axis, scaled(COM, 1 / 0.0254, 'com-unit')),
    'mass in pounds': (links, scaled(MASS, 1 / 0.45359237, 'mass-unit')),
    'mass times 100': (links, scaled(MASS, 100, 'mass-unit')),
    'products for moments': (links, exchanged),
    'decimal comma': (any_element, decimal_comma),
}


class Drawn(NamedTuple):
    """A fault, and the description that it was put into."""

    kind: str
    path: str
    fault: faults.Fault
    known: frozenset  # findings of the description without the fault


def draw(seed, file, each=EACH):
    """Yield faults of a seed, so many of each kind; a file is overwritten without the faults."""
    rng = np.random.default_rng(seed)
    sound = {}
    for kind, (where, fault) in DRAWN.items():
        left = each
        while left:
            path = ROBOTS[int(rng.integers(len(ROBOTS)))]
            source = robots.example_robot_data() / path
            text = source.read_bytes()
            if path not in sound:
                file.write_bytes(text)
                sound[path] = examine(file, source.resolve().parents)
            robot = sound[path].robot
            known = frozenset(
                (f.element, f.kind) for f in sound[path].findings if f.severity != 'info'
            )
            suspected = {element for element, _ in known}
            found = [f for f in where(robot, text) if f[1] not in suspected]
            if found:
                tag, name = found[int(rng.integers(len(found)))]
                yield Drawn(kind, path, fault(text, tag, name, rng), known)
                left -= 1


# -- the tally ----------------------------------------------------------------------------------


def same(expected, repairs):
    """Return whether repairs restore the attributes, to 1e-6, and change no other."""
    got = {repair.attribute: repair.new for repair in repairs}
    return set(got) == set(expected) and all(
        np.allclose(got[path], value, rtol=1e-6, atol=1e-9) for path, value in expected.items()
    )


def answers(drawn, file, reference=None):
    """Return what `check` says: 'repaired', 'named', 'cannot tell', 'blamed' or 'silent'."""
    file.write_bytes(drawn.fault.text)
    source = robots.example_robot_data() / drawn.path
    options = {} if reference is None else {'reference': reference}
    found = examine(file, source.resolve().parents, **options).findings
    mine = [f for f in found if f.element == drawn.fault.element]
    named = [f for f in mine if f.severity != 'info' and f.kind in drawn.fault.kinds]
    if any(same(drawn.fault.repair, f.repair) for f in named):
        return 'repaired'
    if named:
        return 'named'
    if any(f.kind == 'cannot-tell' and set(drawn.fault.kinds) & set(f.slips) for f in mine):
        return 'cannot tell'
    new = {(f.element, f.kind) for f in found if f.severity != 'info'} - drawn.known
    return 'blamed' if new else 'silent'


ANSWERS = ('repaired', 'named', 'cannot tell', 'blamed', 'silent')


def table(rows):
    """Print the answers by kind of fault."""
    print(f'\n{"fault":22}' + ''.join(f'{answer:>13}' for answer in ANSWERS))
    counts = Counter(rows)
    for kind in [*DRAWN, 'all']:
        numbers = [
            sum(n for (k, a), n in counts.items() if a == answer and kind in (k, 'all'))
            for answer in ANSWERS
        ]
        print(f'{kind:22}' + ''.join(f'{n:13}' for n in numbers))
