# SPDX-License-Identifier: Apache-2.0
"""Objects of control with a history: a second event is answered as a first one, at any time.

The event before is larger and of the other sign.
"""

import enum
import importlib
import inspect
import pkgutil
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics import control
from robot_dynamics.common.spatial import pose
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import Impedance, Reference, Trajectory
from robot_dynamics.control.base_motion_estimate import (
    BaseMotionEstimate,
    BaseMotionSettings,
    MotionSample,
)
from robot_dynamics.control.base_motion_sources import (
    CommandSource,
    InertialSource,
    Mounting,
    OdometrySource,
)
from robot_dynamics.control.contact import Contact, ContactDetector
from robot_dynamics.control.contact_level import SETTLED, ContactLevel
from robot_dynamics.control.contact_thresholds import ContactThresholds, Debounced
from robot_dynamics.control.filters import AccelerationFilter, LowPass, VelocityFilter
from robot_dynamics.control.impedance import StiffnessRamp
from robot_dynamics.control.joint_reading import JointReading, JointStateReader, StampRateLimit
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.control.motions import Execution, Outcome, ReferenceMotion
from robot_dynamics.control.payload_test import MOVED, PayloadTest
from robot_dynamics.control.pose_following import PoseFollower, PoseLimits
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.speed_override import SpeedOverride
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.threshold_learning import ThresholdLearning
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.torque_limiting import Limits, TorqueGate
from robot_dynamics.core.friction import memory
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.friction.memory import TrackedFriction, tracked
from robot_dynamics.core.model.robots import planar_2r

MS = 1_000_000  # ns
STEP = 1 / 1024  # s, so that differences of times are exact
ARM = rd.Dynamics(replace(planar_2r(), velocity_limit=np.full(2, 2.5)))
NAMES, TIP = ARM.model.joint_names, ARM.model.link_names[-1]
MEMORY = JointFriction(LAWS['coulomb_memory'], {'coulomb': np.array([0.4, 0.3])}, np.array(0.01))
NO_FRICTION = JointFriction(LAWS['coulomb'], {'coulomb': np.zeros(2)})
THRESHOLDS = ContactThresholds(noise=0.1, level=2.0)


def assert_same(found, expected):
    """Numbers are the same but for rounding, words and truth values exactly."""
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, float | np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        else:
            assert one == other


def states(size, count=60):
    """Yield times from 0 on, positions, velocities and efforts that push in the middle."""
    for k in range(count):
        q = size * np.array([0.1, -0.2]) + 0.05 * size * np.sin([0.5 * k, 0.3 * k])
        push = size * np.array([2.0, -3.0]) if 10 < k < 40 else np.zeros(2)
        qd = size * np.array([0.3, -0.1])
        yield STEP * k, q, qd, ARM.gravity_torque(q) - push


def observe(one, t, size):
    found = []
    for since, *row in states(size):
        found += [one.update(t + since, *row), one.external_torque, one.prompt_torque]
    return found


def detect(both, t, size):
    observer, detector = both
    found = []
    for since, *row in states(size):
        if observer.update(t + since, *row):
            contact = detector.update(t + since, *row)
            found += [contact.kind, contact.joint, contact.excess]
        else:
            detector.restart()
    return found


def new_detector():
    observer = MomentumObserver(ARM, NO_FRICTION, ObserverSettings())
    return observer, ContactDetector(observer, TIP, THRESHOLDS)


def debounce(one, t, size):
    return [one.add(t + STEP * k, size * np.sin([0.3 * k, 2.0 - k])) for k in range(1, 12)]


def filtered(one, t, size):
    return [one.update(t + STEP * k, size * np.sin([0.3 * k, k])) for k in range(12)]


def read(one, t, size):
    """Each second message is of the second joint alone."""
    found = []
    for k in range(12):
        joint, stamp = slice(k % 2, None), round(SECOND * (t + STEP * k))
        q = 0.01 * size * np.sin([0.3 * k, k])
        message = SimpleNamespace(
            name=list(NAMES[joint]), position=q[joint], velocity=[], effort=q[joint]
        )
        reading = one.read(message, stamp)
        if reading is not None:
            found += [reading.stamp, reading.q, reading.qd, reading.effort]
    return found


def limited(one, t, size):
    return [one.is_due(round(SECOND * (t + STEP * k))) for k in range(9)]


def levels(one, t, size):
    """A collision, acknowledged, that rises and ends; states go on all the time."""
    now, found = round(SECOND * t), []
    excess = 3.0 * abs(size)
    messages = [('none', 0.0), ('collision', excess), ('collision', excess), ('none', 0.0)]
    messages += [('none', 0.0), ('collision', excess), ('collision', 1.6 * excess), ('none', 0.0)]
    messages += [('none', 0.0)]
    for k, (kind, now_excess) in enumerate(messages):
        stamp = now + k * SETTLED
        one.receive(kind, stamp, now_excess)
        one.advance(stamp, SETTLED)
        found += [one.collides, one.trips]
        if k in (1, 5):
            one.acknowledge()
            found += [one.trips]
    return found


def ramp(one, t, size):
    """Stiffness rises and falls again: the energy that it adds is that of its rise."""
    stiff, energy = Impedance(600.0 + 300.0 * abs(size), posture_stiffness=1.0), one.energy
    error, found = 0.01 * size * np.ones(6), []
    for wanted in (*[stiff] * 5, SOFT):
        present = one.advance(wanted, 1e-3, error)
        found += [present.stiffness, present.posture_stiffness]
    # 1/2 e^T dK e of the event
    return [*found, round((one.energy - energy) / size**2, 12)]


SOFT = Impedance()


def gate(one, t, size):
    """Torques beyond the limits; in the end the gate is closed at zero."""
    stamp = round(SECOND * t)
    found = [one.is_open]
    found += [one(stamp + k * MS, size * np.array([5.0, -3.0])) for k in range(30)]
    found += [one.saturated(), one.is_open]
    one.step(np.zeros(2), np.inf)
    one.close()
    return found


def speed(one, t, size):
    """A motion that begins slowly, is accelerated, and ends."""
    rows = np.array([[0.0, 0.0], [0.5, 0.2], [1.0, 0.4]])
    path = Trajectory(NAMES, np.array([0.0, 1.0, 2.0]), size * rows)
    motion, found = ReferenceMotion(path, round(SECOND * t)), [one.rate]
    one.target = 0.3 / abs(size)
    found += one.scaled(Reference(*np.ones((3, 2))))
    one.begin(Reference(*np.zeros((3, 2))))
    for k in range(1, 40):
        if k == 20:
            one.target = 0.8
        now = round(SECOND * (t + 0.01 * k))
        motion = one.advance(motion, now, 0.01, np.full(2, 10.0))
        found += [one.rate, *one.scaled(motion.sample(now))]
    one.reset()
    one.target = 1.0
    return found


def follow(one, t, size):
    """A trajectory that the arm leaves, one that it follows, a stream; first a reset."""
    stamp, found = round(SECOND * t), []
    rows = size * np.array([[0.0, 0.0], [0.02, 0.01], [0.0, 0.03]])
    times, rest = np.array([0.0, 0.1, 0.2]), np.zeros((3, 2))
    q, violations = rows[0], one.violations
    for k in range(700):
        error = 0.2 * (100 <= k < 160)
        state = JointReading(stamp + k * MS, q + error, np.zeros(2), None, restarted=k == 0)
        reference, why = one.reference(state)
        q = reference.q
        if k in (50, 250):
            one.follow(Trajectory(NAMES, times, one.present.q + rows, rest), 0)
        if k >= 500 and k % 20 == 0:
            one.follow_reference(Waypoint(one.present.q + size * np.array([0.01, -0.02])), k * MS)
        if k > 50:
            found += [*reference, why, one.doing, one.violation, one.placed, one.progress]
            found += [one.execution.ending, one.violations - violations]
    return found


def follow_poses(one, t, size):
    """Poses that stop, and one at the end; the first state is a reset."""
    stamp, found = round(SECOND * t), []
    frame, goal = pose(np.eye(3), np.array([0.3, 0.1, 0.2])), np.array([0.05, 0.0, 0.02])
    for k in range(300):
        target, why = one.reference(frame, stamp + k * MS, restarted=k == 0)
        if k in (10, 20, 280):
            one.follow(pose(np.eye(3), frame[:3, 3] + size * goal), stamp + k * MS)
        found += [*target, why * (k > 0), one.phase.value, one.placed]
    return found


def learn(one, t, size):
    """A run of which the time, the motions and the contacts are counted."""
    before = one.seconds, one.motions, len(one._events)
    state = SimpleNamespace(p=np.ones(2), along=np.zeros(2), across=np.ones(2))
    observer = SimpleNamespace(
        prompt_torque=np.ones(2),
        bank_torques=np.ones((3, 2)),
        unsettled=np.zeros(2),
        state=state,
        settings=ObserverSettings(),
        friction=MEMORY,
        friction_known=np.array([True, True]),
    )
    for k in range(600):
        q = size * np.sin([0.01 * k, 0.02 * k])
        touches = k % 200 > 150
        contact = Contact('contact', 0, abs(size)) if touches else Contact('none')
        one.add(t + k * 8 * STEP, q, observer, contact)
    one.add(t + 600 * 8 * STEP, q, observer, Contact('none'))
    counts = one.seconds, one.motions, len(one._events)
    return [after - x for x, after in zip(before, counts, strict=True)]


def sense(one, t, size):
    """A sensor that turns, after a gap or a step back in time."""
    found, place = [], Mounting(np.eye(3), np.array([0.1, 0.2, 0.3]))
    gravity = np.array([0.0, 0.0, -9.81])
    for k in range(150):
        stamp, w = round(SECOND * (t + 5 * k * STEP)), size * np.sin([0.1 * k, k, 0.2 * k])
        f = 0.2 * w - gravity
        if isinstance(one, InertialSource):
            sample = one.add(stamp, w, f, place, gravity)
        elif isinstance(one, OdometrySource):
            sample = one.add(stamp, np.concatenate([w, w]), np.eye(3), place, gravity)
        else:
            one.add_twist(stamp, w, place)
            sample = one.add_acceleration(stamp, w, f, place, gravity)
        found += [sample is None, *([] if sample is None else sample[:2])]
    return found


def move_base(one, t, size):
    """Motions that stop, and others that return; all of the event before has faded."""
    found, gravity = [], np.array([0.0, 0.0, -9.81])
    for k in range(300):
        stamp = round(SECOND * (t + 2 * k * STEP))
        if k >= 200 or k < 50:
            one.add(MotionSample(stamp, size * np.sin(0.1 * k + np.arange(9.0)), size * gravity))
        motion = one.at(stamp, gravity)
        if k > 110:
            found += [motion, one.lost, one.fading]
    return found


def low_pass(one, t, size):
    one.reset()
    found = [one.update(size * np.sin([0.3 * k, k]), STEP, 20.0) for k in range(12)]
    return [row for pair in found[1:] for row in pair]


def new_follower():
    limits = Tolerances(np.full(2, 0.05), np.full(2, 0.05), np.full(2, 0.5))
    return ReferenceFollower(ARM.model, np.full(2, 0.1), 0.1, tolerances=limits)


CASES = {
    MomentumObserver: (lambda: MomentumObserver(ARM, MEMORY, LEAD), observe),
    ContactDetector: (new_detector, detect),
    Debounced: (Debounced, debounce),
    InertialSource: (lambda: InertialSource(IMU), sense),
    OdometrySource: (lambda: OdometrySource(IMU), sense),
    CommandSource: (lambda: CommandSource(IMU), sense),
    BaseMotionEstimate: (lambda: BaseMotionEstimate(IMU), move_base),
    LowPass: (LowPass, low_pass),
    AccelerationFilter: (AccelerationFilter, filtered),
    VelocityFilter: (VelocityFilter, filtered),
    JointStateReader: (lambda: JointStateReader(ARM.model, 0.1, VelocityFilter()), read),
    StampRateLimit: (lambda: StampRateLimit(300.0), limited),
    ContactLevel: (ContactLevel, levels),
    StiffnessRamp: (lambda: StiffnessRamp(SOFT), ramp),
    TorqueGate: (lambda: TorqueGate(LIMITS, Counter()), gate),
    SpeedOverride: (SpeedOverride, speed),
    ReferenceFollower: (new_follower, follow),
    PoseFollower: (lambda: PoseFollower(PoseLimits(), 0.1), follow_poses),
    ThresholdLearning: (lambda: ThresholdLearning(2), learn),
}
IMU = BaseMotionSettings(source='imu')
LEAD = ObserverSettings(effort_lead=4 * STEP, play=1e-3)
LIMITS = Limits(np.array([2.0, 4.0]), np.array([300.0, 200.0]), 0.01, np.array([0.25, 1.0]))
# Objects with a history that have tests below, or in files of their own; then those without one.
ALONE = {'PayloadTest', 'Execution', 'TrackedFriction', 'FrictionWithOffset', 'FreeMotion'}
ALONE |= {'TrajectoryGoals', 'Stream', 'StreamClock', 'StreamPath', 'WeightCheck'}
ALONE |= {'RetimingProcess', 'ControlLoop', 'ControlCycle', 'LawTorque'}
RECORDS = {
    *('ArmOnMovingBase', 'BaseMotionSettings'),
    *('CartesianImpedance', 'Combined', 'ContactSettings', 'ContactThresholds'),
    *('ContactWrenchEstimator', 'DriveLoad', 'Feasibility', 'FeedForward', 'Gains', 'Impedance'),
    *(
        'Joined',
        'JointMap',
        'MotionStart',
        'ObserverSettings',
        'PairThresholds',
        'PoseLimits',
        'Stop',
    ),
    *('LoopSettings', 'Switches'),
    *('Trajectory', 'WholeTurns', 'YieldingStop'),
}


@pytest.mark.parametrize('at', [16.0, 1.0], ids=['later', 'clock set back'])
@pytest.mark.parametrize('before', [-2.0, 1.0])
@pytest.mark.parametrize('kind', CASES, ids=lambda kind: kind.__name__)
def test_a_second_event_is_answered_as_a_first_one(kind, before, at):
    make, event = CASES[kind]
    fresh, used = make(), make()
    expected = event(fresh, at, 1.0)
    event(used, 8.0, before)
    assert_same(event(used, at, 1.0), expected)


def test_every_object_with_a_history_is_tested():
    packages = pkgutil.iter_modules(control.__path__, f'{control.__name__}.')
    modules = [*(importlib.import_module(one.name) for one in packages), memory]
    kinds = {
        kind.__name__
        for module in modules
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and not name.startswith('_')
        if not issubclass(kind, tuple | enum.Enum | Exception)
    }
    assert kinds - {kind.__name__ for kind in CASES} == ALONE | RECORDS


# -- out and back ---------------------------------------------------------------------------


def carried(test, observer, way, begin):
    """Return what a payload test finds along positions (k, n), from a time on, ms."""
    loaded, found = ARM.with_payload(TIP, 1.5, [0.1, 0.0, 0.0]), []
    qd = np.gradient(way, 1e-3, axis=0)
    qdd = np.gradient(qd, 1e-3, axis=0)
    effort = loaded.inverse_dynamics(way, qd, qdd)
    for k, row in enumerate(zip(way, qd, effort, strict=True)):
        t = 1e-3 * (begin + k)
        observer.update(t, *row)
        if k == 1:
            test.start(t, row[0])
        elif k > 1:
            found.append(test.update(t, *row, np.full(2, 0.1)))
    return found


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_payload_that_was_moved_out_and_back_has_moved_until_the_next_contact(sign):
    observer = MomentumObserver(ARM, NO_FRICTION, ObserverSettings())
    test = PayloadTest(observer, TIP)
    away = (1 - np.cos(np.linspace(0, 2 * np.pi, 600)))[:, None]
    away = sign * 2 * MOVED * np.concatenate([away, np.zeros((100, 1))])
    start = np.array([-1.0, 0.4])
    still = np.tile(start, (400, 1))
    found = carried(test, observer, start + away * [0.0, 1.0], 0)
    assert found[-1].moved
    # A second contact of the arm at rest, and the clock set back before a third one.
    for begin in (700, 100):
        observer.restart()
        (*_, last) = carried(test, observer, still, begin)
        assert not last.moved
        assert last.mass > 0.1


def test_an_execution_keeps_its_first_end():
    execution = Execution()
    execution.conclude(Outcome.PATH_VIOLATED, 'first')
    for outcome in Outcome:
        execution.conclude(outcome, 'later')
        assert execution.ending == 'path tolerance violated: first'


@pytest.mark.parametrize('changes', [0, 1, 2])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_friction_turns_with_each_way_out_and_back_and_forgets_what_was_before(changes, sign):
    """Over many pre-sliding lengths, also if its coefficients change on the way."""
    other = replace(MEMORY, coefficients={'coulomb': np.array([0.8, 0.1])})
    one = tracked(MEMORY)
    one.move(np.zeros(2))
    rest = np.zeros(2)
    for turn in range(4):
        way = sign * (-1) ** turn * np.linspace(0.0, 0.3, 50)
        for k, x in enumerate(way):
            one.move(np.array([x, -x]))
            if k == 25 and turn < changes:
                one = tracked(other if turn == 0 else MEMORY, before=one)
        level = np.asarray(one.coefficients['coulomb'])
        np.testing.assert_allclose(one.torque(rest), np.sign(way[-1]) * level * [1, -1], rtol=1e-9)
    assert isinstance(one, TrackedFriction)
