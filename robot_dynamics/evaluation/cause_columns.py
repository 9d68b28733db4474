# SPDX-License-Identifier: Apache-2.0
"""Torque columns of possible causes of a residual.

Residuals are linear in the errors of a model, so each unknown has a column, the residual of one
unit of it:

    dry friction       tanh(qd / v_0)                     N m or N            of each joint
    Stribeck friction  tanh(qd / v_0) exp(-(qd / v_s)^2)  N m or N
    viscous friction   qd                                 N m s/rad or N s/m
    rotor inertia      qdd                                kg m^2 or kg
    offset             1                                  N m or N            of the sensor
    scale              the model's torque                 -                   of sensor or drive
    gravity            torque of a unit                   m/s^2               of the base
    delay              - d(torque)/dt                     s                   of the efforts
    inertia            regressor                          kg, kg m, kg m^2    of each link

Columns pass the same low-pass as the residuals, and are computed at the few samples that this
low-pass needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.recordings.drives import Drives
from robot_dynamics.recordings.smoothing import Stretch, derivative

OF_JOINTS = (
    *('dry friction', 'Stribeck friction', 'viscous friction', 'rotor inertia'),
    *('offset', 'scale'),
)
STATED = {  # standard errors of identified parameters, by kind of cause
    'dry friction': 'friction.coulomb',
    'Stribeck friction': 'friction.stribeck',
    'viscous friction': 'friction.viscous',
    'rotor inertia': 'rotor_inertia',
    'offset': 'effort_offset',
}
OF_MOTION = slice(0, 4)  # causes that have no effect at rest
# Unknowns that are torques; the low-pass makes columns of short ones small.
OF_TORQUE = ('dry friction', 'Stribeck friction', 'offset')
GRAVITY, DELAY, BODIES = slice(0, 3), 3, slice(4, None)  # of the columns of the robot
PER_BODY = 10  # parameters of an inertia: m, m c, tensor about the frame's origin
SPARSE = 8  # samples per period of the cut-off frequency
INDEPENDENT = 2  # of these are independent


class Columns(NamedTuple):
    """Residuals and columns at G times.

    Attributes:
        t: (G,) s.
        lengths: number of samples of each stretch.
        rows: indices of independent samples.
        of_joints: (6, G, n) in the order of OF_JOINTS.
        of_robot: (4 + 10 nb, G, n) gravity, delay, inertias.
        residual: (G, n) measured effort minus computed torque.
        qd: (G, n) velocities.
        gravity_torque: (G, n)
    """

    t: Array
    lengths: tuple[int, ...]
    rows: Array
    of_joints: Array
    of_robot: Array
    residual: Array
    qd: Array
    gravity_torque: Array

    def torque(self, of_joints: Array, of_robot: Array) -> Array:
        """Return the torque (G, n) of unknowns of joints (6, n) and of the robot (P,)."""
        own = np.einsum('kgj,kj->gj', self.of_joints, of_joints)
        return np.asarray(own + np.tensordot(of_robot, self.of_robot, axes=1))

    def stacked(self) -> Array:
        """Return columns and residual of each joint (n, R, 6 + P + 1), independent rows."""
        parts = [self.of_joints, self.of_robot, self.residual[None]]
        return np.concatenate([part[:, self.rows] for part in parts]).transpose(2, 1, 0)

    def with_scale_of(self, of_joints: Array, of_robot: Array) -> Columns:
        """Return the columns with scales of the torque that these unknowns correct."""
        scale = OF_JOINTS.index('scale')
        other, columns = of_joints.copy(), self.of_joints.copy()
        other[scale] = 0.0
        columns[scale] += self.torque(other, of_robot)
        return self._replace(of_joints=columns)


class Comparison(NamedTuple):
    """What a search of causes compares: recorded efforts of a motion, and a model.

    Attributes:
        arm: the model.
        link: of a possible payload.
        columns: of the motion.
        perturbed: the same with the motion's noise added, and subtracted; or none.
        effort: (n,) root mean square of the measured efforts.
        measured: (n,) bool: the joint has measured efforts.
        stated: (n,) standard errors of the model, by kind of cause.
    """

    arm: Dynamics
    link: str
    columns: Columns
    perturbed: Sequence[Columns]
    effort: Array
    measured: Array
    stated: Mapping[str, Array]

    def with_scale_of(self, of_joints: Array, of_robot: Array) -> Comparison:
        """Return the same with scales of the torque that these unknowns correct."""
        columns, *perturbed = (
            one.with_scale_of(of_joints, of_robot) for one in (self.columns, *self.perturbed)
        )
        return self._replace(columns=columns, perturbed=perturbed)


def columns_of(arm: Dynamics, stretches: Sequence[Stretch], drives: Drives) -> Columns:
    """Return the columns of a motion.

    Args:
        arm: the model.
        stretches: the motion, with efforts in N m or N.
        drives: friction and offset.
    """
    parts = [_of_stretch(arm, s, drives) for s in stretches]
    t, _, rows, of_joints, of_robot, *of_samples = zip(*parts, strict=True)
    ends = np.cumsum([0, *(len(one) for one in t)])
    return Columns(
        np.concatenate(t),
        tuple(np.diff(ends)),
        np.concatenate([end + one for end, one in zip(ends, rows, strict=False)]),
        np.concatenate(of_joints, axis=1),
        np.concatenate(of_robot, axis=1),
        *map(np.concatenate, of_samples),
    )


def _of_stretch(arm: Dynamics, s: Stretch, drives: Drives) -> Columns:
    sparse = s.sparse(SPARSE)
    smooth, sharp = sparse.smooth, sparse.sharp
    q, qd, qdd = (x[sparse.samples] for x in (s.q, s.qd, s.qdd))
    t = sparse.inner(s.t[sparse.samples])
    friction = LAWS['stribeck'].features(s.qd, 0.0, sliding_direction(s.qd))
    model = sharp(drives.effort(arm, s.q, s.qd, s.qdd))
    of_joints = np.array(
        [
            *(sharp(friction[..., term]) for term in (1, 2)),  # dry, Stribeck
            smooth(qd),
            smooth(qdd),
            np.ones_like(model),
            model,
        ]
    )
    g = arm.gravity_torque(q)
    unit = [arm.with_gravity(arm.model.gravity + e).gravity_torque(q) - g for e in np.eye(3)]
    Y = arm.regressor(q, qd, qdd)
    of_robot = np.concatenate(
        [
            np.array([smooth(x) for x in unit]),
            -derivative(model, t)[None],
            np.moveaxis(smooth(Y), 2, 0),
        ]
    )
    apart = max(1, round(1 / (INDEPENDENT * s.cutoff * sparse.stride * s.step)))
    residual = sharp(s.effort) - model
    rows = np.arange(0, len(t), apart)
    return Columns(
        t, (len(t),), rows, of_joints, of_robot, residual, sparse.inner(qd), sparse.inner(g)
    )
