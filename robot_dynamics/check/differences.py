# SPDX-License-Identifier: Apache-2.0
"""Differences of two models with paired joints, and the gravity torque that each costs.

The cost of a difference is that of A with this difference alone. Inertias differ only where joint
torques depend on it: what a revolute joint does not tell apart, such as the mass of a stator that
one description counts to the link before, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.check.correspondence import (
    ANGLE,
    LENGTH,
    WRONG_ZERO,
    Place,
    correspondence,
    is_mirror_image,
)
from robot_dynamics.check.inertia_differences import inertia_differences
from robot_dynamics.check.joint_pairs import OtherRobot, Pairing, paired_bodies
from robot_dynamics.common.reporting.findings import Finding
from robot_dynamics.common.spatial import Array, inverse_pose, pose, rpy
from robot_dynamics.core.algorithms import crba, gravity_torque
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.coordinates import driven_body
from robot_dynamics.core.model.inertia import transformed
from robot_dynamics.core.model.joint_values import unit_of
from robot_dynamics.core.model.joints import joint_transform
from robot_dynamics.core.model.robot_model import PER_COORDINATE, RobotModel
from robot_dynamics.core.model.states import random_postures

ANOTHER = 45.0  # deg between axes: another robot
GRAVITY = 1e-2  # m/s^2: 9.80665 and 9.81 are the same
VALUE = 1e-3  # relative, of limits and friction; of position limits in rad or m
TORQUE = 1e-3  # N m or N: smaller costs are not shown
POSTURES = 200
NAMES = 4  # of links that are listed

# kind: field of the model, words, unit of revolute joints
VALUES = {
    'limit': (('lower', 'lower limit', 'rad'), ('upper', 'upper limit', 'rad')),
    'velocity': (('velocity_limit', 'velocity limit', 'rad/s'),),
    'effort': (('effort_limit', 'effort limit', 'N m'),),
    'armature': (('reflected_inertia', 'armature', 'kg m^2'),),
    'friction': (
        ('viscous', 'viscous friction', 'N m s/rad'),
        ('coulomb', 'dry friction', 'N m'),
    ),
}


class Comparison:
    """Two models with paired joints, and what differs between them.

    Attributes:
        A: the model in whose joints and frames differences are expressed.
        B: the other one, its coordinates in the order of A.
        cost: of all differences of places, by which pairings are compared.
    """

    def __init__(self, A: RobotModel, B: RobotModel, pairing: Pairing):
        """Find the places of the bodies.

        Args:
            A: a model.
            B: another one.
            pairing: of all their joints.

        Raises:
            OtherRobot: bodies have no counterpart.
        """
        self.A, self._pairing = A, pairing
        self._columns = [B.joint_names.index(name) for _, name in pairing.pairs]
        self.B = _reordered(B, self._columns)
        self._found = correspondence(A, self.B, paired_bodies(A, self.B, pairing))
        self.cost = self._found.cost + WRONG_ZERO * len(self._exchanged())
        self._scale, self._offset = self._coordinates()
        self._q = random_postures(A, POSTURES)
        self._weight = _gravity(A, self._q)

    def _coordinates(self) -> tuple[Array, Array]:
        """Return scale and offset (n,) of positions of B: q_B = scale q + offset."""
        scale, offset = np.ones(self.A.n), np.zeros(self.A.n)
        for k in range(self.A.n):
            i = driven_body(self.A, k)
            j, place = self._found.bodies[i], self._found.places[i]
            rate = place.reverse * self.B.S[j, k]
            # reverse S_B (scale dq) = S_A dq,  reverse S_B offset = zero
            scale[k], offset[k] = self.A.S[i, k] / rate, _zero(self.A, i, place) / rate
        return scale, offset

    # -- verdict ----------------------------------------------------------------------------

    def check_one_robot(self) -> None:
        """Raise OtherRobot if an axis has another direction, or B is the mirror image of A."""
        if is_mirror_image(self.A, self.B, self._found):
            raise OtherRobot('the second is the mirror image of the first')
        off = [np.degrees(place.angle) for place in self._found.places]
        worst = int(np.argmax(off))
        if off[worst] > ANOTHER:
            raise OtherRobot(
                f'the axis of {self._joint(worst)} is {off[worst]:.0f} deg off, at zero positions'
            )

    def _joint(self, i: int) -> str:
        """Return the joint that drives a body of A, or the mimicking body and its leader."""
        for k in np.flatnonzero(self.A.S[i]):
            if driven_body(self.A, int(k)) == i:
                return self.A.joint_names[k]
        return f'{self.A.body_names[i]} (mimic)'

    # -- remarks ----------------------------------------------------------------------------

    def remarks(self) -> Iterator[str]:
        """Yield what is written differently without effect on torques."""
        renamed = [f'{a}={b}' for a, b in self._pairing.pairs if a != b]
        if renamed and not self._exchanged():
            yield f'joints are paired {self._pairing.how}: {", ".join(renamed)}'
        if self._columns != sorted(self._columns):
            yield 'the joints have another order: vectors of one robot are not those of the other'
        T = self._found.base
        if not np.allclose(T, np.eye(4), rtol=0, atol=LENGTH):
            turn, shift = np.degrees(rpy(T[:3, :3])), 1e3 * T[:3, 3]
            root = self._joint(0)
            yield (
                f'the base frame of B is turned by rpy {_short(turn)} deg and moved by '
                f'{_short(shift)} mm in that of A (or zero and place of {root} differ)'
            )
        if moved := self._moved_frames():
            more = ', ...' if len(moved) > NAMES else ''
            yield f'frames have another place on their links: {", ".join(moved[:NAMES])}{more}'
        yield from self._velocity_limits()

    def _moved_frames(self) -> list[str]:
        """Return the frames of one name that differ by more than their bodies do."""
        moved = []
        for name, i, T in zip(
            self.A.frame_names, self.A.frame_body, self.A.frame_placement, strict=True
        ):
            if i < 0 or name not in self.B.frame_names:
                continue
            m, place = self.B.frame_index(name), self._found.places[i]
            if self.B.frame_body[m] != self._found.bodies[i]:
                continue
            gap = inverse_pose(T) @ place.Q @ self.B.frame_placement[m]
            angle = math.acos(np.clip((np.trace(gap[:3, :3]) - 1) / 2, -1, 1))
            length = float(np.linalg.norm(gap[:3, 3]))
            if angle > ANGLE or length > LENGTH:
                moved.append(f'{name} ({np.degrees(angle):.2f} deg, {1e3 * length:.2f} mm)')
        return moved

    def _velocity_limits(self) -> Iterator[str]:
        """Yield which velocity limits one description alone has: some formats have none."""
        limited = [np.isfinite(model.velocity_limit) for model in (self.A, self.B)]
        for x, (here, there) in (('A', limited), ('B', limited[::-1])):
            if (alone := here & ~there).any():
                joints = ', '.join(np.array(self.A.joint_names)[alone])
                yield f'only {x} has velocity limits: {"all joints" if alone.all() else joints}'

    def _exchanged(self) -> list[str]:
        """Return joints of A whose names belong to other joints of B, as pairs a=b."""
        return [
            f'{a}={b}'
            for a, b in self._pairing.pairs
            if a != b and a in self.B.joint_names and a not in self._pairing.given
        ]

    def names(self) -> Iterator[Finding]:
        """Yield joints of B that have the names of other joints of A."""
        if exchanged := self._exchanged():
            words = f'names belong to other joints of B, paired {self._pairing.how}'
            yield Finding('names', ', '.join(exchanged), words)

    # -- kinematics -------------------------------------------------------------------------

    def gravity(self) -> Iterator[Finding]:
        """Yield a gravity vector that differs in the axes of A's base, and in torques."""
        there = self._found.base[:3, :3] @ self.B.gravity
        if np.abs(self.A.gravity - there).max() > GRAVITY:
            words = f'gravity {_short(self.A.gravity)} / {_short(there)} m/s^2 in the axes of A'
            found = self._finding('gravity', 'base', words, self.A.with_gravity(there))
            yield from [found] * ((found.size or 0.0) > TORQUE)

    def axes(self) -> Iterator[Finding]:
        """Yield joints whose axis or place differs."""
        for i, place in enumerate(self._found.places):
            revolute = bool(self.A.revolute[i])
            line = [f'{np.degrees(place.angle):.2f} deg'] * (place.angle > ANGLE)
            line += [f'{1e3 * place.distance:.2f} mm'] * (place.distance > LENGTH)
            words = [f'axis off by {" and ".join(line)}'] * bool(line)
            if revolute and place.slide:
                words.append(f'moved along its axis by {1e3 * -place.slide:.2f} mm')
            if not revolute and place.turn:
                words.append(f'turned about its axis by {np.degrees(-place.turn):.2f} deg')
            if words:
                alone = self._with_joint(i, place)
                yield self._finding('axis', self._joint(i), ', '.join(words), alone)

    def zeros(self) -> Iterator[Finding]:
        """Yield joints whose zero differs, or that turn the other way."""
        for k, name in enumerate(self.A.joint_names):
            offset, scale = self._offset[k], self._scale[k]
            shown = (
                f'{np.degrees(offset):.2f} deg' if self.A.angular[k] else f'{1e3 * offset:.2f} mm'
            )
            if offset:
                alone = replace(self.A, s0=self.A.s0 - self.A.S[:, k] * offset)
                words = f'zero differs: B reads {shown} where A reads 0'
                yield self._finding('zero', name, words, alone)
            if abs(scale - 1) > VALUE:
                alone = replace(self.A, S=self.A.S / np.where(np.arange(self.A.n) == k, scale, 1))
                ratio = f'B moves by {scale:.4g} where A moves by 1'
                reverse = abs(scale + 1) <= VALUE
                sentence = 'turns the other way' if reverse else ratio
                yield self._finding('direction', name, sentence, alone)

    def mimics(self) -> Iterator[Finding]:
        """Yield bodies that follow their joints by another ratio or with another offset."""
        for i, (j, place) in enumerate(zip(self._found.bodies, self._found.places, strict=True)):
            # In positions of A: S_B (scale q + offset) reverse
            ratio = place.reverse * self.B.S[j] * self._scale
            zero = place.reverse * float(self.B.S[j] @ self._offset)
            left = _zero(self.A, i, place) - zero
            words = []
            if np.abs(ratio - self.A.S[i]).max() > VALUE:
                used = (self.A.S[i] != 0) | (ratio != 0)
                words.append(f'ratio {_short(self.A.S[i][used])} / {_short(ratio[used])}')
            if abs(left) > (ANGLE if self.A.revolute[i] else LENGTH):
                words.append(f'offset {_short(left)} {"rad" if self.A.revolute[i] else "m"}')
            if words:
                S, s0 = self.A.S.copy(), self.A.s0.copy()
                S[i], s0[i] = ratio, s0[i] - left
                alone = replace(self.A, S=S, s0=s0)
                subject = self.A.body_names[i]
                yield self._finding('mimic', subject, f'mimic {", ".join(words)}', alone)

    def _with_joint(self, i: int, place: Place) -> RobotModel:
        """Return A with the axis and the place of one joint of B."""
        A, j = self.A, self._found.bodies[i]
        z = place.reverse * place.Q[:3, :3] @ self.B.axis[j]
        # The point of B's axis next to the origin becomes the origin of the body frame.
        shift = np.eye(4)
        if A.revolute[i] and place.distance > LENGTH:
            shift[:3, 3] = place.Q[:3, 3] - z * (z @ place.Q[:3, 3])
        placement, axis, com = A.placement.copy(), A.axis.copy(), A.com.copy()
        # The difference of zeros is another finding.
        zero = pose(
            *joint_transform(np.eye(4), A.axis[i], bool(A.revolute[i]), _zero(A, i, place))
        )
        placement[i] = inverse_pose(place.undo) @ placement[i] @ zero @ shift
        axis[i] = z / np.linalg.norm(z)
        com[i] -= shift[:3, 3]
        for c in np.flatnonzero(A.parent == i):
            placement[c] = inverse_pose(shift) @ placement[c]
        return replace(A, placement=placement, axis=axis, com=com)

    # -- inertias ---------------------------------------------------------------------------

    def inertias(self) -> tuple[list[Finding], list[str]]:
        """Return bodies whose inertias differ, and remarks on those that no torque shows."""
        others = [
            transformed(self.B.inertial(j), place.Q)
            for j, place in zip(self._found.bodies, self._found.places, strict=True)
        ]
        findings, unseen = [], []
        for found in inertia_differences(self.A, others, self._q):
            name = self.A.body_names[found.body]
            if found.shown:
                words = '; '.join([found.words, *self._links_alone(found.body)])
                findings.append(self._costed('inertia', name, words, found.torque))
            else:
                unseen.append(f'{name} ({found.words})')
        more = ', ...' if len(unseen) > NAMES else ''
        listed = f'{", ".join(unseen[:NAMES])}{more}'
        return findings, [f'no torque depends on how the inertias of {listed} differ'] * bool(
            unseen
        )

    def _links_alone(self, i: int) -> list[str]:
        """Return which links of a body only one description has, if it is a few of them."""
        words = []
        for x, one, k, other in (
            ('A', self.A, i, self.B),
            ('B', self.B, self._found.bodies[i], self.A),
        ):
            alone = [
                name
                for name, body in zip(one.frame_names, one.frame_body, strict=True)
                if body == k and name not in other.frame_names
            ]
            shared = set(one.frame_names) & set(other.frame_names)
            if alone and 2 * len(shared) >= len(one.frame_names):
                more = ', ...' if len(alone) > NAMES else ''
                words.append(f'only {x} has {", ".join(alone[:NAMES])}{more}')
        return words

    def inertia_difference(self) -> Array:
        """Return the largest relative differences (n,) of M's diagonals without rotors."""
        scale, diagonals = self._scale, []
        for model, q in ((self.A, self._q), (self.B, scale * self._q + self._offset)):
            tree = replace(canonical_tree(model), reflected_inertia=(0.0,) * model.n)
            M = crba(tree, list(q.T))
            diagonals.append(np.array([M[k][k] * np.ones(len(q)) for k in range(model.n)]))
        ours, theirs = diagonals[0], scale[:, None] ** 2 * diagonals[1]
        largest = np.maximum(np.maximum(ours, theirs).max(axis=1), 1e-300)
        return np.asarray(np.abs(ours - theirs).max(axis=1) / largest)

    # -- values of joints -------------------------------------------------------------------

    def values(self) -> Iterator[Finding]:
        """Yield limits, efforts, rotors and friction that differ."""
        theirs = self._values_of_B()
        share = self._rotor_shares(theirs['reflected_inertia'])
        for kind, attributes in VALUES.items():
            for k, name in enumerate(self.A.joint_names):
                words = [
                    f'{what} {_value(a)} / {_value(b)} {unit_of(bool(self.A.angular[k]), unit)}'
                    for attribute, what, unit in attributes
                    if self._differs(attribute, k, theirs)
                    for a, b in [(getattr(self.A, attribute)[k], theirs[attribute][k])]
                ]
                if words and kind == 'armature':
                    words[0] += f' ({100 * share[k]:.0f} % of M)'
                if words:
                    yield Finding(kind, name, ', '.join(words))

    def _values_of_B(self) -> dict[str, Array]:
        """Return the values (n,) of B in units of the coordinates of A."""
        B, scale = self.B, self._scale
        ends = [(getattr(B, name) - self._offset) / scale for name in ('lower', 'upper')]
        return {
            'lower': np.minimum(*ends),
            'upper': np.maximum(*ends),
            'velocity_limit': B.velocity_limit / np.abs(scale),
            'effort_limit': B.effort_limit * np.abs(scale),
            'reflected_inertia': B.reflected_inertia * scale**2,
            'viscous': B.viscous * scale**2,
            'coulomb': B.coulomb * np.abs(scale),
        }

    def _differs(self, name: str, k: int, theirs: dict[str, Array]) -> bool:
        """Return whether a value of a joint differs.

        Position limits differ if they do so in both readings of the zero, which has its finding; a
        velocity limit that one description lacks is a remark, since some formats have none.
        """
        a, b = getattr(self.A, name)[k], theirs[name][k]
        if name == 'velocity_limit' and not (np.isfinite(a) and np.isfinite(b)):
            return False
        if name in ('lower', 'upper'):
            as_read = b + self._offset[k] / self._scale[k]
            return not any(np.isclose(a, x, rtol=0, atol=VALUE) for x in (b, as_read))
        return not np.isclose(a, b, rtol=VALUE, atol=0)

    def _rotor_shares(self, theirs: Array) -> Array:
        """Return the share (n,) of the larger rotor inertia in the median of M's diagonal."""
        rotor = np.maximum(self.A.reflected_inertia, theirs)
        tree = replace(canonical_tree(self.A), reflected_inertia=tuple(rotor.tolist()))
        M = crba(tree, list(self._q.T))
        return np.array([rotor[k] / max(np.median(M[k][k]), 1e-300) for k in range(self.A.n)])

    # -- costs ------------------------------------------------------------------------------

    def torques(self) -> tuple[Array, Array]:
        """Return the largest differences of gravity torques, and the largest of A, (n,) each."""
        return self._torque_difference(self.B), np.abs(self._weight).max(axis=0)

    def _torque_difference(self, model: RobotModel) -> Array:
        """Return the largest differences (n,) of gravity torques from A's, at equal positions."""
        return np.asarray(np.abs(_gravity(model, self._q) - self._weight).max(axis=0))

    def _finding(self, kind: str, subject: str, words: str, alone: RobotModel) -> Finding:
        return self._costed(kind, subject, words, self._torque_difference(alone))

    def _costed(self, kind: str, subject: str, words: str, cost: Array) -> Finding:
        """Return a finding with the joint at which it costs most, given all costs (n,)."""
        k = int(np.argmax(cost))
        if cost[k] > TORQUE:
            of = np.abs(self._weight[:, k]).max()
            unit = self.A.effort_units[k]
            words += f'; {cost[k]:.3g} of {of:.3g} {unit} at {self.A.joint_names[k]}'
        return Finding(kind, subject, words, float(cost[k]))


def _reordered(model: RobotModel, columns: list[int]) -> RobotModel:
    """Return the model with its coordinates in another order."""
    values = {name: getattr(model, name)[columns] for name in PER_COORDINATE}
    names = tuple(model.joint_names[k] for k in columns)
    return replace(model, joint_names=names, S=model.S[:, columns], **values)


def _zero(A: RobotModel, i: int, place: Place) -> float:
    """Return the difference of zeros of a body's joint, rad or m."""
    return place.turn if A.revolute[i] else place.slide


def _gravity(model: RobotModel, q: Array) -> Array:
    """Return the gravity torques (k, n) of k postures."""
    g = gravity_torque(canonical_tree(model), list(q.T))
    return np.stack([np.broadcast_to(x, len(q)) for x in g], axis=1)


def _short(values: Any) -> str:
    return ' '.join(f'{x:.4g}' for x in np.atleast_1d(np.round(values, 6) + 0.0))


def _value(x: float) -> str:
    return f'{x:.4g}' if np.isfinite(x) else 'none'
