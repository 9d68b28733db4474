# SPDX-License-Identifier: Apache-2.0
"""Objects of control keep no array of their caller: a reused buffer changes no later result."""

import itertools
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from kept_arrays import check_reuse, objects_of

import robot_dynamics as rd
from robot_dynamics import control
from robot_dynamics.control import Gains, Impedance, PoseReference, Reference, Trajectory
from robot_dynamics.control.arm_on_moving_base import ArmOnMovingBase
from robot_dynamics.control.base_motion_estimate import BaseMotionEstimate, BaseMotionSettings
from robot_dynamics.control.base_motion_sources import (
    CommandSource,
    InertialSource,
    Mounting,
    OdometrySource,
    WeightCheck,
)
from robot_dynamics.control.contact import Contact, ContactDetector
from robot_dynamics.control.contact_thresholds import ContactThresholds, Debounced, FreeMotion
from robot_dynamics.control.contact_wrench import ContactWrenchEstimator
from robot_dynamics.control.control_cycle import ControlCycle
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.filters import AccelerationFilter, LowPass, VelocityFilter
from robot_dynamics.control.impedance import CartesianImpedance, StiffnessRamp
from robot_dynamics.control.joint_reading import JointMap, JointReading, JointStateReader
from robot_dynamics.control.law_torque import LawTorque
from robot_dynamics.control.loop_settings import LoopSettings
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.control.motion_start import MotionStart, WholeTurns
from robot_dynamics.control.partial_motion import Combined, Part
from robot_dynamics.control.payload_test import PayloadTest
from robot_dynamics.control.pose_following import PoseFollower, PoseLimits
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.speed_override import SpeedOverride
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.stream_following import Stream
from robot_dynamics.control.stream_path import StreamPath
from robot_dynamics.control.threshold_learning import ThresholdLearning
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.torque_limiting import Limits, TorqueGate
from robot_dynamics.control.transitions import Joined, Stop, YieldingStop
from robot_dynamics.core.friction import memory
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.friction.memory import FrictionWithOffset, TrackedFriction
from robot_dynamics.core.model.robots import planar_2r

MS = 1_000_000  # ns
ARM = rd.Dynamics(replace(planar_2r(), velocity_limit=np.full(2, 2.5)))
NAMES, TIP = ARM.model.joint_names, ARM.model.link_names[-1]
MOVES = [[np.sin(0.3 * k + j) for j in range(2)] for k in range(4)]  # rad, rad/s or N m


def trajectory(given, times=(0.0, 0.2, 0.4)):
    rows = [[0.0, 0.0], [0.05, 0.02], [0.0, 0.1]]
    return Trajectory(NAMES, given(times), given(rows), given(np.zeros((3, 2))))


def friction(given, law='coulomb_memory'):
    return JointFriction(LAWS[law], {'coulomb': given([0.4, 0.3])}, given([0.01, 0.02]))


def observer(given):
    settings = ObserverSettings(effort_lead=0.01, play=given([1e-3, 2e-3]))
    one = MomentumObserver(ARM, friction(given), settings)
    given.reuse()
    return one


def states():
    """Return states (t, q, qd, effort) that reach the level of contact after the first two."""
    for k in range(12):
        q = np.array([0.1, -0.2]) + 0.05 * np.sin([0.5 * k, 0.3 * k])
        yield 1e-3 * k, q, np.array([0.3, -0.1]), np.sin([0.3 * k, k]) + (20.0 if k > 2 else 0.0)


def observe(given):
    one = observer(given)
    for t, *rows in states():
        one.update(t, *map(given, rows))
        given.reuse()
        given.results += [one.external_torque, one.prompt_torque, one.settings.play]


def carry_payload(given):
    """Turn at constant velocity with a payload that the observer's arm lacks."""
    one, loaded = observer(given), ARM.with_payload(TIP, 1.5, [0.1, 0.0, 0.0])
    test, found, qd = PayloadTest(one, TIP), None, np.array([0.5, -0.3])
    for k in range(300):
        q = np.array([-1.0, 0.4]) + 1e-3 * k * qd
        effort = loaded.inverse_dynamics(q + 0.01 * qd, qd, np.zeros(2))
        one.update(1e-3 * k, q, qd, effort)
        if k == 1:
            test.start(1e-3, given(q))
            given.reuse()
        if k > 1:
            found = test.update(1e-3 * k, *map(given, (q, qd, effort)), given([0.1, 0.1]))
            given.reuse(found)
    assert found.moved


def detect(given):
    one = observer(given)
    values = {name: given([0.1, 0.2]) for name in ('noise', 'noise_per_momentum', 'level')}
    detector = ContactDetector(one, TIP, ContactThresholds(**values))
    given.reuse()
    for t, *rows in states():
        if one.update(t, *rows):
            contact = detector.update(t, *map(given, rows))
            given.reuse()
            given.results.append(contact.excess)
    assert contact.kind != 'none'


def learn(given):
    one, motion, debounced = observer(given), FreeMotion(2), Debounced()
    for t, *rows in states():
        if one.update(t, *rows):
            motion.add(t, one)
            given.reuse(debounced.add(t, given(rows[-1])))
    given.results += list(vars(motion.learned().thresholds).values())


def learn_anew(given):
    one, before = observer(given), ContactThresholds(*(given([0.1, 0.2]) for _ in range(3)))
    run = ThresholdLearning(2, before, 2.0)
    given.reuse()
    given.results += list(vars(run.learned().thresholds).values())  # those before
    for t, *rows in states():
        if one.update(t, *rows):
            run.add(t, given(rows[0]), one, Contact('contact', 0, 1.5))
            given.reuse()
    given.results += [*vars(run.learned().thresholds).values(), run.motions]


def estimate_wrench(given):
    one = ContactWrenchEstimator(ARM, TIP, 'force')
    for q, r in itertools.pairwise(MOVES):
        given.reuse(one.estimate(given(q), given(r), given([0.1, 0.2])))


def differentiate(kind):
    def run(given):
        one = kind()
        for k, row in enumerate(MOVES):
            given.reuse(one.update(1e-3 * k, given(row)))
            given.reuse(one.update(1e-3 * k, given(row)))

    return run


def pose(x):
    T = np.eye(4)
    T[:3, 3] = x, 0.1, 0.2
    return T


def impedance(given, stiffness=600.0):
    rows = {'translational_stiffness': given([stiffness] * 3), 'damping_ratio': given(0.7)}
    return Impedance(**rows, posture_stiffness=given([1.0, 2.0]))


def press(given):
    law = CartesianImpedance(ARM, TIP)
    soft, stiff = impedance(given, 100.0), impedance(given)
    ramp = StiffnessRamp(soft)
    given.reuse()
    for q in MOVES:
        wanted = ramp.advance(stiff, 1e-3, given(np.full(6, 0.01)))
        given.reuse(wanted.stiffness, wanted.damping)
        target = PoseReference(given(pose(0.3)), given(np.zeros(6)))
        rest = given([0.0, 0.0])
        given.reuse(law.torque(given(q), rest, target, ramp.present, posture=given(MOVES[0])))
        given.results.append(ramp.energy)


def read_joints(given):
    one = JointStateReader(ARM.model, 0.1, VelocityFilter())
    for k, q in enumerate(MOVES):
        joint = slice(k % 2, None)  # the second joint alone, each second time
        names, none = list(NAMES[joint]), given([])
        message = SimpleNamespace(
            name=names, position=given(q)[joint], velocity=none, effort=given(q)[joint]
        )
        given.reuse(one.read(message, 50 * k * MS))
        names.reverse()


def start_motion(given):
    rules = MotionStart(ARM.model, given([0.1, 0.2]), lambda _: 0.25)
    given.reuse()
    present = Reference(*np.zeros((3, 2)))
    for q in ([0.15, 0.0], [0.0, 0.25], [0.05, 0.15], [0.3, 0.5]):
        given.results += rules.start(present, JointReading(0, given(q), None, None))
        given.reuse()


def nearest_turn(given):
    turns = WholeTurns(planar_2r())
    for q in MOVES:
        given.reuse(turns.nearest(given(q) + 7.0, given(q)))


class Arm:
    """A perfect arm that follows a reference, with states at 1 kHz."""

    def __init__(self, given):
        limits = Tolerances(given([0.05, 0.06]), given([0.05, 0.06]), given([0.5, 0.6]))
        self.follower = ReferenceFollower(ARM.model, given([0.1, 0.2]), 0.1, tolerances=limits)
        self.given, self.stamp, self.q = given, 0, np.zeros(2)
        given.reuse()
        self.states(2)

    def states(self, count, error=0.0):
        for _ in range(count):
            self.stamp += MS
            q, qd = self.given(self.q + error), self.given([0.2, -0.1])
            found, _ = self.follower.reference(JointReading(self.stamp, q, qd, None))
            self.q = np.array(found.q)
            self.given.reuse(found)


def follow(given):
    arm = Arm(given)
    limits = Tolerances(given([0.05, 0.06]), given([0.0, 0.0]))
    arm.follower.follow(trajectory(given), 0, limits)
    given.reuse()
    arm.states(60)
    arm.follower.stop()
    arm.states(20)
    for k in range(6):
        point = Waypoint(given(arm.q + 1e-4), given([0.01, 0.01]))
        arm.follower.follow_reference(point, arm.stamp)
        given.reuse()
        arm.states(20 if k == 5 else 2)
    times, q = given([0.01, 0.03]), given(arm.q + 1e-4)
    arm.follower.follow_window(times, [Waypoint(q), Waypoint(q)], arm.stamp)
    given.reuse()
    arm.states(20)
    given.reuse(arm.follower.completed(trajectory(given))[1])
    arm.follower.collide('a test')
    arm.states(3)
    arm.follower.follow(trajectory(given), 0)
    given.reuse()
    arm.states(20, error=0.055)
    given.results.append(arm.follower.violations)


def follow_poses(given):
    one = PoseFollower(PoseLimits(), 1.0)
    given.reuse(one.reference(given(pose(0.0)), MS)[0])
    for k in range(2, 40):
        if k in (3, 20):
            one.follow(given(pose(1e-3 * k)), k * MS)
            given.reuse()
        given.reuse(one.reference(given(pose(0.0)), k * MS)[0])


def override_speed(given):
    one = SpeedOverride()
    one.rate = 0.5
    for q in MOVES:
        path = given.reference(q, q, q)
        given.reuse(one.unscaled(one.scaled(path)))


def limit_torque(given):
    limits = Limits(given([1.0, 2.0]), given([30.0, 40.0]), 0.01)
    gate = TorqueGate(limits, Counter(), given([0.5, 0.4]))
    given.reuse()
    for k in range(30):
        given.reuse(gate(k * MS, given(2 * np.array(MOVES[k % 4]))), gate.saturated())


def run_loop(given):
    settings = LoopSettings(tolerance=given([0.1, 0.1]), effort_offset=given([0.2, -0.1]))
    gains = {'kp': given([20.0, 10.0]), 'kd': given([2.0, 1.0])}
    loop = ControlLoop(ARM, 'pd_plus', damping=given([3.0, 2.0]), settings=settings, **gains)
    given.reuse()
    for k in range(12):
        target = Waypoint(given([0.01 * k, 0.0]), given([0.1, 0.0])) if k % 4 == 1 else None
        given.reuse(loop.command(0.01 * k, given([0.0, 0.1]), given([0.2, -0.1]), target))
    loop.stop()
    for t in (0.12, 0.11, 0.13, 0.14):  # damped
        given.reuse(loop.command(t, given([0.0, 0.1]), given([0.2, -0.1])))
    loop.restart()
    given.reuse(loop.command(0.1, given([0.3, 0.1]), given([0.0, 0.0])))
    led = ControlLoop(ARM, 'gravity_only', kd=given([2.0, 1.0]))
    for t in (0.0, 0.01, -1.0):
        given.reuse(led.command(t, given([0.3, t]), given([0.0, 0.2])))


def sample(make):
    """Sample a path that is made once; its start, between, and twice its end."""

    def run(given):
        path = make(given)
        given.reuse()
        for t in (0.0, 0.13, 0.4, 1.0, 1.0):
            given.reuse(path.sample(t))
        given.reuse(path.end)
        given.reuse(path.end)

    return run


def stop(given):
    return Stop(given.reference(MOVES[0], MOVES[1], [0.0, 0.0]), given([0.3, 0.2]))


def yielding_stop(given):
    return YieldingStop(stop(given), given.reference(MOVES[0], MOVES[1], [0.0, 0.0]))


def joined(given):
    return Joined(trajectory(given), trajectory(given, (0.0, 0.1, 0.2)), 0.1)


def combined(given):
    parts = [(trajectory(given), [True, False]), (stop(given), [False, True])]
    return Combined(tuple(Part(path, 0.0, given(joints)) for path, joints in parts))


def slide(tracked):
    def run(given):
        one = tracked(given)
        given.reuse()
        for q in MOVES:
            one.move(given(0.01 * np.array(q)))
            given.reuse(one.torque(given(q)))

    return run


def gains(given):
    one = Gains(given([1.0, 2.0]), given([3.0, 4.0]))
    given.reuse(one.kp, one.kd)
    given.results += [one.kp, one.kd]


def move_base(given):
    """Each source gives samples, which an estimate interpolates."""
    settings, step = BaseMotionSettings(source='imu'), 5 * MS
    place = Mounting(np.eye(3), np.array([0.1, 0.2, 0.3]))
    sources = InertialSource(settings), OdometrySource(settings), CommandSource(settings)
    for source in sources:
        one = BaseMotionEstimate(settings)
        for k, row in enumerate(MOVES):
            w, f, g = ([0.1, *row], [0.2, row[0], 9.5], [0.0, 0.0, -9.81])
            if source is sources[0]:
                sample = source.add(
                    k * step, given(w), given(f), place, given(g), given(np.eye(3))
                )
            elif source is sources[1]:
                sample = source.add(k * step, given([*w, *w]), given(np.eye(3)), place, given(g))
            else:
                source.add_twist(k * step, given(w), place)
                given.reuse()
                sample = source.add_acceleration(k * step, given(w), given(f), place, given(g))
            if sample is not None:
                one.add(sample)
                given.reuse(sample.motion, sample.weight)
            given.reuse(one.at(k * step + MS, given(g)))
        for k in range(100):  # they stop
            given.reuse(one.at(k * step, given([0.0, 0.0, -9.81])))


def low_pass(given):
    one = LowPass()
    for row in MOVES:
        given.reuse(one.update(given(row), 1e-3, 20.0))


def on_moving_base(given):
    one = ArmOnMovingBase(ARM)
    for row in MOVES:
        one.motion = np.arange(9.0)
        given.reuse(one.gravity_torque(given(row)), one.inverse_dynamics(*map(given, [row] * 3)))
        given.reuse(one.coriolis_matrix(given(row), given(row)), one.terms(given(row), given(row)))


CASES = {
    (InertialSource, OdometrySource, CommandSource, WeightCheck, BaseMotionEstimate): move_base,
    (LowPass,): low_pass,
    (ArmOnMovingBase,): on_moving_base,
    (MomentumObserver,): observe,
    (PayloadTest,): carry_payload,
    (ContactDetector,): detect,
    (Debounced, FreeMotion): learn,
    (ThresholdLearning,): learn_anew,
    (ContactWrenchEstimator,): estimate_wrench,
    (AccelerationFilter,): differentiate(AccelerationFilter),
    (VelocityFilter,): differentiate(VelocityFilter),
    (CartesianImpedance, StiffnessRamp, Impedance): press,
    (JointMap, JointStateReader): read_joints,
    (MotionStart,): start_motion,
    (WholeTurns,): nearest_turn,
    (ReferenceFollower, Stream, StreamPath): follow,
    (PoseFollower,): follow_poses,
    (SpeedOverride,): override_speed,
    (TorqueGate,): limit_torque,
    (ControlLoop, ControlCycle, LawTorque): run_loop,
    (Trajectory,): sample(trajectory),
    (Stop,): sample(stop),
    (YieldingStop,): sample(yielding_stop),
    (Joined,): sample(joined),
    (Combined,): sample(combined),
    (TrackedFriction,): slide(lambda given: TrackedFriction(friction(given))),
    (FrictionWithOffset,): slide(
        lambda given: FrictionWithOffset(friction(given, 'coulomb'), given([0.2, 0.1]))
    ),
    (Gains,): gains,
}
# Records of values, which the objects above copy, and objects without arrays.
RECORDS = {
    *('ContactSettings', 'ContactThresholds', 'ObserverSettings', 'PairThresholds', 'PoseLimits'),
    *('LoopSettings', 'Switches'),
    *('FeedForward', 'Feasibility', 'DriveLoad', 'Execution', 'StampRateLimit', 'TrajectoryGoals'),
    *('ContactLevel', 'StreamClock', 'BaseMotionSettings', 'RetimingProcess'),
}


@pytest.mark.parametrize('case', CASES.values(), ids=[case[0].__name__ for case in CASES])
def test_a_reused_array_changes_no_later_result(case):
    check_reuse(case)


def test_every_object_of_control_is_tested():
    kinds = objects_of([control], memory)
    tested = {kind for case in CASES for kind in case}
    assert {kind.__name__ for kind in kinds - tested} == RECORDS
