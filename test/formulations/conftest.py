# SPDX-License-Identifier: Apache-2.0
"""Robots, states and an independent library, shared by the tests of all formulations."""

import operator
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
import robots
from pin_model import PinRobot

from robot_dynamics.common.spatial import axis_rotation, pose
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import (
    cartesian_arm,
    five_bar,
    geared_link,
    planar_2r,
    point_mass_2r,
    puma560,
    random_inertial,
    random_tree,
    remote_elbow,
    vertical_particle,
)


def mimic_arm() -> RobotModel:
    """Return five bodies on three coordinates: a mimic, a remote drive and an offset."""
    rng = np.random.default_rng(11)
    axes = rng.normal(size=(5, 3))
    return build_tree(
        'mimic_arm',
        [-1, 0, 1, 1, 3],
        [True, True, False, True, True],
        [axis / np.linalg.norm(axis) for axis in axes],
        [
            pose(axis_rotation(np.array([0.6, 0.0, 0.8]), rng.normal()), rng.normal(size=3))
            for _ in range(5)
        ],
        [random_inertial(rng) for _ in range(5)],
        joint_names=('a', 'b', 'c'),
        S=np.array([[1, 0, 0], [-1, 1, 0], [0, 0.3, 0], [0, 0, 1], [0, -2, 0.5]]),
        s0=np.array([0.0, 0.2, -0.1, 0.0, 0.7]),
        gravity=np.array([1.0, -2.0, -9.0]),
    )


def random_trees(*sizes: int, **options: float) -> dict[str, RobotModel]:
    return {f'tree_{n}': random_tree(n, np.random.default_rng(100 + n), **options) for n in sizes}


ROBOTS = {
    'planar_2r': planar_2r(),
    'vertical_particle': vertical_particle(),
    'geared_link': geared_link(),
    'cartesian_arm': cartesian_arm(),
    'remote_elbow': remote_elbow(),
    'five_bar': five_bar(),
    'point_mass_2r': point_mass_2r(),
    'puma560': puma560(),
    **random_trees(1, 2, 3, 5, 7, 12),
    'revolute_chain': random_tree(6, np.random.default_rng(1), branching=0.0, prismatic=0.0),
    'prismatic_tree': random_tree(4, np.random.default_rng(2), prismatic=1.0),
    'star': random_tree(6, np.random.default_rng(3), branching=1.0),
    'rotors': random_tree(4, np.random.default_rng(4)).with_actuation(
        gear_ratio=[50.0, 20.0, 1.0, 3.0], rotor_inertia=[1e-3, 2e-3, 0.1, 0.4]
    ),
    'mimic': replace(mimic_arm(), reflected_inertia=np.array([0.1, 0.0, 0.7])),
    'weightless': random_tree(4, np.random.default_rng(5)).with_gravity([0.0, 0.0, 0.0]),
}


def state(model: RobotModel, seed: int = 0) -> SimpleNamespace:
    """Return a random q, qd, qdd and wrench."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, model.n))
    return SimpleNamespace(q=q, qd=qd, qdd=qdd, wrench=rng.uniform(-10.0, 10.0, 6))


REAL_ROBOTS = ('panda', 'ur5', 'kuka_iiwa', 'xarm6')


@cache
def load(name: str) -> RobotModel:
    return robots.load(name)


@pytest.fixture(params=[*ROBOTS, *REAL_ROBOTS], ids=str)
def robot(request) -> RobotModel:
    if request.param in ROBOTS:
        return ROBOTS[request.param]
    try:
        return load(request.param)
    except FileNotFoundError as error:
        # Two of them come with PyBullet, which has no wheel for every machine.
        pytest.skip(str(error))


@pytest.fixture
def at(robot) -> SimpleNamespace:
    return state(robot)


class PushedPinRobot(PinRobot):
    """The robot in Pinocchio, with an external wrench at one of its frames."""

    def pushed_dynamics(self, q, qd, qdd, wrench, frame):
        """Return tau (n,) by Pinocchio's own recursion, which takes wrenches on bodies."""
        forces = pin.StdVec_Force([pin.Force.Zero()] * self.pin.njoints)
        joint = self.pin.frames[self.pin.getFrameId(frame)].parentJoint
        # From base axes at the frame's origin to the joint's own frame; force first there.
        origin = pin.SE3(np.eye(3), self.pose(q, frame)[:3, 3])
        world = origin.act(pin.Force(wrench[3:], wrench[:3]))
        forces[joint] = self.data.oMi[joint].actInv(world)
        tau = pin.rnea(self.pin, self.data, *self.body(q, qd, qdd), forces)
        return self.S.T @ tau + self.model.reflected_inertia * qdd


@pytest.fixture
def reference(robot):
    return PushedPinRobot(robot)


class Scalar:
    """A number that NumPy stores as an object; it has arithmetic, sin and cos."""

    def __init__(self, value):
        self.value = float(value)

    def _with(self, other, operation):
        # An array handles a number by itself, element by element.
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Scalar(operation(self.value, float(other)))

    def __add__(self, other):
        return self._with(other, operator.add)

    def __sub__(self, other):
        return self._with(other, operator.sub)

    def __rsub__(self, other):
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._with(other, operator.mul)

    def __truediv__(self, other):
        return self._with(other, operator.truediv)

    def __neg__(self):
        return Scalar(-self.value)

    def __float__(self):
        return self.value

    def sin(self):
        return Scalar(np.sin(self.value))

    def cos(self):
        return Scalar(np.cos(self.value))

    __radd__, __rmul__ = __add__, __mul__


@pytest.fixture
def as_objects():
    return lambda values: np.array([Scalar(value) for value in values], dtype=object)
