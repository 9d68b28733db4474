# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance of an arm with the errors of a real one: accuracy, elbow, singularity.

Links are 1 % and friction 10 % off the model; gains of the drives are known.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiers

import robot_dynamics as rd
from robot_dynamics.common.spatial import rotation_z
from robot_dynamics.control.impedance import CartesianImpedance, Impedance, PoseReference
from robot_dynamics.control.pose_following import PoseFollower, PoseLimits
from robot_dynamics.core.algorithms.pose_motion import displaced
from robot_dynamics.simulation import JointModels, Simulator, load_profile
from robot_dynamics.simulation.sensors import Sensing

PROFILE = replace(
    load_profile(Path(__file__).parents[2] / 'config/realistic_panda.yaml'),
    model_error=(0.005, 0.01),
)
EXACT_STAMPS = replace(PROFILE, sensors=replace(PROFILE.sensors, jitter=0.0))
TOOL = 'panda_link8'
POSTURE = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.785])
STEP = 1e-3  # s


@pytest.fixture(scope='module')
def law():
    return CartesianImpedance(rd.Dynamics(rd.load_urdf('panda')), TOOL)


class Run:
    """What a controlled arm does, rows of every millisecond.

    Attributes:
        off: (k, 2) distance of the frame from its target, mm and degrees.
        torques: (k, 7) N m.
        q: (k, 7) rad.
    """

    def __init__(self, law, target, seconds, posture=None, seed=0, profile=PROFILE, friction=True):
        """Simulate.

        Args:
            law: of the model of the arm.
            target: returns a PoseReference at a time, s.
            seconds: how long.
            posture: returns positions and velocities at a time; they have a stiffness.
            seed: of the errors of the arm, and of noise.
            profile: of the arm.
            friction: whether it is fed forward.
        """
        model = law.arm
        true = rd.Dynamics(profile.actual(model.model, seed))
        own = Impedance(posture_stiffness=0.0 if posture is None else 10.0)
        arm = Simulator(
            true,
            q=POSTURE,
            time_step=STEP,
            joint_models=JointModels(profile.friction, profile.drives),
        )
        lost = profile.friction.of(model.model) if friction else None
        sensing, z = Sensing(model.model, profile.sensors, STEP, (seed,)), 0.0
        off, torques, positions = [], [], []
        for k in range(round(seconds / STEP)):
            wanted = target(k * STEP)
            q_n, qd_n = (None, 0.0) if posture is None else posture(k * STEP)
            true_state = (x[None] for x in (arm.q, arm.qd, arm.effort))
            q, qd, _ = (x[0] for x in sensing.read(*true_state))
            found = law.torque(
                q,
                qd,
                wanted,
                own,
                posture=q_n,
                posture_velocity=qd_n,
                friction=lost,
                z=z,
                time_step=STEP,
            )
            z = found.z
            arm.step(found.tau / np.asarray(profile.drives.gain))
            T = true.forward_kinematics(arm.q, TOOL)
            turn = 0.5 * (np.trace(T[:3, :3].T @ wanted.pose[:3, :3]) - 1)
            distance = np.linalg.norm(T[:3, 3] - wanted.pose[:3, 3])
            off.append((1e3 * distance, np.degrees(np.arccos(min(turn, 1.0)))))
            torques.append(found.tau)
            positions.append(arm.q)
        self.off, self.torques, self.q = map(np.array, (off, torques, positions))


def path(law, speed=1.0, accelerates=True):
    """Return the target of a path with up to 0.07 m/s and 0.16 rad/s, from rest in two seconds.

    Args:
        law: of the arm.
        speed: multiple of these velocities.
        accelerates: whether the target has its acceleration.
    """
    start = law.arm.forward_kinematics(POSTURE, TOOL)
    size = np.array([0.04, 0.08, 0.05, 0.3])  # m, and rad about the vertical
    frequency = np.pi / np.array([5.0, 7.0, 4.0, 6.0])  # rad/s

    def target(t):
        t = speed * t
        s = min(t / 2, 1.0)
        ramp, rate, change = s**3 * (10 - 15 * s + 6 * s * s), 15 * (s - s * s) ** 2, 0.0
        if s < 1:
            change = 15 * s * (1 - s) * (1 - 2 * s)
        wave, slope = size * np.sin(frequency * t), size * frequency * np.cos(frequency * t)
        way, velocity = ramp * wave, speed * (rate * wave + ramp * slope)
        bend = change * wave + 2 * rate * slope - ramp * frequency**2 * wave
        acceleration = accelerates * speed**2 * bend
        T = start.copy()
        T[:3, :3] = rotation_z(way[3]) @ T[:3, :3]
        T[:3, 3] += way[:3]
        twists = [np.array([0.0, 0.0, x[3], *x[:3]]) for x in (velocity, acceleration)]
        return PoseReference(T, *twists)

    return target


@pytest.mark.parametrize(
    'case', [(0, 4.0, 1.0), *tiers.soak([(1, 14.0, 1.0), (2, 14.0, 1.0), (1, 7.0, 3.0)])]
)
def test_follows_a_path_with_friction_fed_forward(law, case):
    seed, seconds, speed = case
    distance, angle = Run(law, path(law, speed), seconds, seed=seed).off.T
    assert distance.max() < 1.5  # mm
    assert np.sqrt(np.mean(angle**2)) < 0.3  # degrees
    assert angle.max() < 0.5  # where a joint reverses


@pytest.mark.slow
def test_friction_that_is_not_fed_forward_keeps_the_frame_from_its_target(law):
    distance, angle = Run(law, path(law), 6.0, friction=False).off.T
    assert distance.max() > 3.0
    assert angle.max() > 0.8


@pytest.mark.slow
def test_an_acceleration_that_is_not_fed_forward_bends_the_spring(law):
    distance, _ = Run(law, path(law, 3.0, accelerates=False), 4.0).off.T
    assert distance.max() > 4.0


@pytest.mark.slow
def test_a_pose_that_jumps_is_followed_smoothly(law):
    """By 0.17 m and 0.3 rad: 10 mm off the target without its acceleration."""
    follower = PoseFollower(PoseLimits(), 0.1)
    start = law.arm.forward_kinematics(POSTURE, TOOL)
    goal = np.array(displaced(start.tolist(), [0.0, 0.0, 0.3, 0.1, 0.1, -0.1]))
    follower.reference(start, 10**9)

    def target(t):
        follower.follow(goal, 10**9 + round(1e9 * t))
        # The frame is never far from the target here.
        return follower.reference(follower.present.pose, 10**9 + round(1e9 * t))[0]

    found = Run(law, target, 2.0)
    assert found.off[:, 0].max() < 3.0  # mm
    assert np.abs(np.diff(found.torques[5:], axis=0)).max() < 2.0  # N m in a millisecond
    np.testing.assert_allclose(follower.present.pose, goal, atol=1e-9)


@pytest.mark.parametrize('case', [(1, 0), *tiers.soak([(-1, 1), (1, 2)])])
def test_elbow_motion_of_a_radian_leaves_the_tool_where_it_is(law, case):
    sign, seed = case
    start = PoseReference(law.arm.forward_kinematics(POSTURE, TOOL), np.zeros(6))
    way = sign * 2.3 * np.eye(7)[0]  # the null space follows by half of it

    def posture(t):
        s = min(t / 3, 1.0)
        return POSTURE + s * s * (3 - 2 * s) * way, 2 * s * (1 - s) * way

    found = Run(law, lambda _: start, 4.5, posture, seed)
    assert abs(found.q[-1, 0] - POSTURE[0]) > 1.0
    assert found.off[:, 0].max() < 1.5  # mm; 2.7 without friction


@pytest.mark.slow
@pytest.mark.parametrize('profile', [EXACT_STAMPS, PROFILE], ids=['exact stamps', 'jitter'])
def test_to_the_stretched_elbow_and_back(law, profile):
    """The target goes 5 cm beyond reach; noise of the velocity shows in the torque."""
    arm = law.arm
    start = arm.forward_kinematics(POSTURE, TOOL)
    shoulder, wrist = (
        arm.forward_kinematics(POSTURE, name)[:3, 3] for name in ('panda_link2', 'panda_link5')
    )
    way = 0.32 * (wrist - shoulder) / np.linalg.norm(wrist - shoulder)

    def target(t):
        rate = np.pi / 8.0
        s, c = np.sin(rate * min(t, 8.0)), np.cos(rate * min(t, 8.0))
        T = start.copy()
        # sin^4, without steps of the acceleration
        T[:3, 3] += s**4 * way
        velocity, acceleration = 4 * s**3 * c * rate, 4 * s**2 * (3 * c**2 - s**2) * rate**2
        return PoseReference(
            T, *(np.append(np.zeros(3), x * way) for x in (velocity, acceleration))
        )

    found = Run(law, target, 8.5, profile=profile)
    assert np.linalg.svd(arm.jacobian(found.q, TOOL), compute_uv=False).min() < 1e-3
    assert found.off[:, 0].max() > 45.0  # mm
    limit = arm.model.effort_limit
    assert (np.abs(found.torques).max(axis=0) < limit).all()
    # The limit of feedforward_node: the whole effort in 0.1 s
    assert (np.abs(np.diff(found.torques, axis=0)).max(axis=0) / STEP < limit / 0.1).all()
    assert found.off[-1, 0] < 3.0
