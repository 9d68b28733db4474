# SPDX-License-Identifier: Apache-2.0
"""The reference is continuous, or the arm is held where it is, softly: events in any order.

A reference is continuous if its position changes no faster than the velocity limit and its
velocity no faster than the acceleration limit, whatever streams; so is a target of a frame. After
a violated tolerance it moves no faster than the arm. Softly: the torque changes no faster than its
rate limit, always. Numbers of any size are rejected, or bounded: nothing that is not finite is
commanded.

A collision that the observer has published holds the arm at the next state, whatever happened
between; an observer that is silent is missed; and learning does not disarm it.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import LAWS, Gains, Switches, Trajectory
from robot_dynamics.control.contact import Contact
from robot_dynamics.control.contact_level import RISE, SETTLED, ContactLevel
from robot_dynamics.control.contact_thresholds import ContactThresholds
from robot_dynamics.control.feedforward import waypoint_efforts
from robot_dynamics.control.impedance import CartesianImpedance, Impedance, StiffnessRamp
from robot_dynamics.control.joint_reading import (
    JointDataError,
    JointReading,
    JointStateReader,
    state_bounds,
)
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.momentum_observer import ObserverSettings
from robot_dynamics.control.motions import Outcome
from robot_dynamics.control.pose_following import PoseFollower, PoseLimits
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.threshold_learning import ThresholdLearning
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.torque_limiting import LONGEST_STEP, Limits, TorqueGate, largest_factor
from robot_dynamics.control.transitions import YieldingStop, stopping_time
from robot_dynamics.core.algorithms.pose_motion import ACCELERATION_POLE, displaced, displacement
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.robots import planar_2r

S, MS = 1_000_000_000, 1_000_000
TIMEOUT = 0.1  # s, input_timeout
SILENCE = 500 * MS  # contact_timeout
EFFORT = np.array([40.0, 15.0])
MODEL = replace(
    planar_2r(),
    lower=np.array([-2.0, -2.5]),
    upper=np.array([3.0, 1.5]),
    velocity_limit=np.array([2.0, 3.0]),
    effort_limit=EFFORT,
)
ARMS = [Dynamics(MODEL), Dynamics(replace(MODEL, mass=2 * MODEL.mass))]
MOST = acceleration_limit(MODEL)
BOUNDS = state_bounds(MODEL)
FRAME = 'tip'
SPRINGS = {id(arm): CartesianImpedance(arm, FRAME) for arm in ARMS}
FRICTION = FrictionSettings('coulomb_memory', viscous=0.1, coulomb=0.5).of(MODEL)
POSES = PoseLimits()

positions = st.tuples(st.floats(-1.9, 2.9), st.floats(-2.4, 1.4)).map(np.array)
offsets = st.tuples(*2 * [st.floats(-0.12, 0.12)]).map(np.array)
huge = st.tuples(st.sampled_from([-1.0, 1.0]), st.sampled_from([2e5, 1e13, 1e155, 1e308])).map(
    np.prod
)
small = st.tuples(*2 * [st.floats(-0.02, 0.02)]).map(np.array)


class StandIn:
    """An observer of which the external torque on joint 0 is known, at every joint state.

    Attributes:
        words: kind, stamp and excess of what it has published since the last restart.
        learning: its run, None without one.
    """

    FACTOR, COLLISION = 1.5, 3.0

    def __init__(self):
        self.thresholds = ContactThresholds(np.full(2, 0.1), np.zeros(2), np.full(2, 3.0))
        self.push, self.alive, self.knows, self.learning = 0.0, True, True, None
        self.restart()

    def restart(self):
        self.words, self.told = [], None

    def contact(self, push):
        sigma, level = self.thresholds.noise[0], self.thresholds.level[0]
        excess = abs(push) / (self.FACTOR * level * sigma)
        if excess < 1:
            return Contact('none')
        hits = excess >= self.COLLISION / self.FACTOR
        return Contact('collision' if hits else 'contact', 0, excess)

    def see(self, stamp, q):
        """Return the word for a joint state, None without one; at changes, and 10 Hz."""
        contact = self.contact(self.push)
        if self.learning is not None:
            self.sample(stamp / S, q, self.push, contact)
        kind = contact.kind if self.knows else 'unknown'
        due = self.told is None or self.told[0] != kind or stamp - self.told[1] >= S // 10
        if not (self.alive and due):
            return None
        self.told = kind, stamp
        if self.knows:
            self.words.append((kind, stamp, contact.excess))
        return kind, stamp, contact.excess

    def sample(self, t, q, push, contact):
        r = np.array([push, 0.0]) + 0.05
        state = SimpleNamespace(p=np.ones(2), along=r, across=r)
        observer = SimpleNamespace(
            prompt_torque=r,
            bank_torques=np.tile(r, (3, 1)),
            unsettled=np.zeros(2),
            state=state,
            settings=ObserverSettings(),
            friction=FRICTION,
            friction_known=np.ones(2, bool),
        )
        self.learning.add(t, q, observer, contact)

    def collides(self, acknowledged, since):
        """Return whether a collision counts, by definition, after one that was acknowledged.

        Args:
            acknowledged: its excess, None without one.
            since: how many words had been published then.
        """
        kinds = [kind for kind, *_ in self.words]
        if 'collision' not in kinds:
            return False
        last = len(kinds) - 1 - kinds[::-1].index('collision')
        later = [stamp for _, stamp, _ in self.words[last + 1 :]]
        if later and later[-1] - later[0] >= SETTLED:
            return False
        if acknowledged is None or last < since:
            return acknowledged is None
        changed = any(kind != 'collision' for kind in kinds[since - 1 : last])
        return changed or max(x for *_, x in self.words[since:]) > RISE * acknowledged


class Motions(RuleBasedStateMachine):
    """An arm that follows, more or less, and everything that happens to it."""

    @initialize(q=positions)
    def switch_on(self, q):
        self.tolerance, self.tolerances = np.array([0.1, 0.05]), None
        self.arm = ARMS[0]
        self.follower = ReferenceFollower(
            MODEL, self.tolerance, TIMEOUT, lambda r: stopping_time(self.arm, EFFORT, r)
        )
        self.limits = Limits(EFFORT, EFFORT / 0.1, 0.05)
        self.gate = TorqueGate(self.limits, Counter())
        self.poses, self.wrench = PoseFollower(POSES, TIMEOUT), np.zeros(6)
        self.target_wrench = np.zeros(6)
        self.reader = JointStateReader(MODEL, TIMEOUT)
        self.springs, self.target = Impedance(), None
        self.law, self.gains = LAWS['feedforward'], Gains(50.0, 5.0)
        self.stamp, self.last, self.clock = 1000 * S, None, None
        self.q = self.seen = q
        self.qd = np.zeros(2)
        self.observer, self.contact = StandIn(), ContactLevel()
        self.acknowledged, self.missed = (None, 0), 0  # ms of states without a word
        self.receive()

    def receive(self, restarted=False, returned=False):
        """Receive a state, and check what is commanded for it."""
        state = JointReading(self.stamp, self.q, self.qd, None, restarted)
        held = self.take_contact(restarted)
        yielding = self.is_yielding()
        reference, _ = self.follower.reference(state, returned)
        if self.follower.placed:
            self.gate.soften()
        before = self.gate.last
        if self.law is None:
            tau = self.torque_of_frame(state, reference)
        else:
            tau = self.law(self.arm, reference, state.q, state.qd, Switches(), self.gains).tau
        assert np.isfinite(tau).all()
        after = self.gate(self.stamp, tau)
        dt = 0.0 if self.clock is None else (self.stamp - self.clock) / S
        if restarted:
            dt = 0.0
        most = self.limits.rate * np.clip(dt, 0.0, LONGEST_STEP)
        assert (np.abs(after - before) <= most * (1 + 1e-9) + 1e-9).all()
        self.check(reference, max(0.0, dt), yielding or self.is_yielding())
        self.clock = self.stamp
        if held:
            assert self.is_yielding() or not self.follower.moving
            assert (np.abs(reference.q - self.q) <= np.abs(self.q - self.seen) + 1e-9).all()
            self.enable()
        self.last, self.seen = reference, self.q

    def take_contact(self, restarted):
        """Take what the observer publishes at this state; return whether the arm is held."""
        if restarted:
            self.contact.restart()
            self.observer.restart()
            self.acknowledged = None, 0
        self.publish()
        before = self.contact.silence
        self.contact.advance(self.stamp, SILENCE)
        assert self.contact.trips == self.observer.collides(*self.acknowledged)
        if self.contact.silence > SILENCE >= before:
            self.follower.stop('no contact')
        if self.contact.trips:
            self.follower.collide('collision')
        return self.contact.trips

    def publish(self):
        word = self.observer.see(self.stamp, self.q)
        if word is not None:
            self.contact.receive(*word)

    def enable(self):
        """Release the arm while it touches, so that it can be backed off."""
        self.contact.acknowledge()
        words = self.observer.words
        excess = [excess for kind, _, excess in words if kind == 'collision'][-1]
        self.acknowledged = excess, len(words)
        self.follower.release()

    def torque_of_frame(self, state, reference):
        """Return the torque of the law cartesian_impedance, and check its target."""
        pose, since = self.arm.forward_kinematics(state.q, FRAME), state.stamp - self.poses.now
        target, _ = self.poses.reference(pose, state.stamp, state.restarted)
        way = displacement(pose, target.pose)
        sizes = [np.linalg.norm(way[:3]), np.linalg.norm(way[3:])]
        assert (np.array(sizes) <= np.array(POSES.distance) * (1 + 1e-9)).all()
        dt = min(max(since, 0), round(TIMEOUT * S)) / S
        if self.poses.placed:
            assert not any(way)
            self.ramp, self.z = StiffnessRamp(self.springs), np.zeros(2)
            self.gate.soften()
        elif self.target is not None:
            # An arm that moves away draws the target along.
            moved = displacement(self.frame, pose)
            step = displacement(self.target.pose, target.pose)
            change = target.velocity - self.target.velocity
            jerk = target.acceleration - self.target.acceleration
            taken = 1 - np.exp(-ACCELERATION_POLE * dt)
            for part, v, a in zip(
                (slice(3), slice(3, 6)), POSES.velocity, POSES.acceleration, strict=True
            ):
                allowed = v * dt + np.linalg.norm(moved[part]) + 1e-9
                assert np.linalg.norm(step[part]) <= 1.001 * allowed
                assert np.linalg.norm(target.velocity[part]) <= v * (1 + 1e-9)
                assert np.linalg.norm(change[part]) <= a * dt * 1.001 + 1e-9
                assert np.linalg.norm(target.acceleration[part]) <= a * 1.001 + 1e-6
                assert np.linalg.norm(jerk[part]) <= 2 * a * taken * 1.001 + 1e-6
        springs = self.ramp.advance(self.springs, dt, np.zeros(6))
        found = SPRINGS[id(self.arm)].torque(
            state.q,
            state.qd,
            target,
            springs,
            posture=reference.q,
            posture_velocity=reference.qd,
            wrench=self.wrench,
            friction=FRICTION,
            z=self.z,
            time_step=dt,
        )
        assert (np.abs(found.z) <= 1 + 1e-12).all()
        self.z, self.frame, self.target = found.z, pose, target
        return found.tau + self.pressing()

    def pressing(self):
        """Return the torque of the target wrench, as ros/wrench_input.py does."""
        size = np.abs(self.target_wrench).max() or 1.0
        F = self.target_wrench / size
        tau = self.arm.wrench_torque(self.q, F, FRAME)
        pressing = min(size, largest_factor(F, tau, EFFORT, (0.0, 0.0))) * tau
        assert (np.abs(pressing) <= 0.5 * EFFORT * (1 + 1e-12)).all()
        return pressing

    def is_yielding(self):
        motion = self.follower.motion
        return motion is not None and isinstance(motion.path, YieldingStop)

    def check(self, reference, dt, yielding):
        assert all(np.isfinite(row).all() for row in reference)
        if self.follower.placed:
            # A motion was accepted where the arm was at the last state, and began.
            allowed = self.tolerance + np.abs(self.q - self.seen) + MODEL.velocity_limit * dt
            assert (np.abs(reference.q - self.q) <= allowed + 1e-9).all()
            return
        step = np.abs(reference.q - self.last.q)
        allowed = MODEL.velocity_limit * dt
        if yielding:
            assert (step <= allowed + np.abs(self.q - self.seen) + 1e-6).all()
            assert (np.abs(reference.qd) <= np.abs(self.qd) + 1e-9).all()
            return
        continuous = step <= allowed + 1e-6
        there = np.abs(reference.q - self.q) <= self.tolerance
        assert (continuous | (there & (dt > TIMEOUT))).all()
        change = np.abs(reference.qd - self.last.qd)
        assert (change <= MOST * dt * 1.001 + 1e-5).all()

    def track(self, error):
        """Let the arm be near the reference."""
        self.q = self.last.q + np.clip(error, -self.tolerance / 3, self.tolerance / 3)
        self.qd = self.last.qd

    # -- time -------------------------------------------------------------------------------

    @rule(count=st.integers(1, 60), dt=st.integers(1, 10), error=small)
    def states(self, count, dt, error):
        for _ in range(count):
            self.stamp += dt * MS
            self.track(error)
            self.receive()

    @rule()
    def repeated_state(self):
        self.receive()

    @rule(back=st.integers(1, 5))
    def overtaken_state(self, back):
        self.stamp -= back * MS
        self.receive()
        self.stamp += (back + 1) * MS
        self.receive()

    @rule(gap=st.integers(50, 3000), q=st.none() | positions, on_the_path=st.booleans())
    def gap(self, gap, q, on_the_path):
        self.stamp += gap * MS
        if q is not None:
            self.q = q
        elif on_the_path and self.follower.motion is not None:
            self.q = self.follower.motion.sample(self.stamp).q
        self.receive()

    @rule(q=st.none() | positions)
    def silence_while_the_stamps_stand_still(self, q):
        self.stamp += MS
        self.q = self.q if q is None else q
        self.receive(returned=True)

    @rule(stamp=st.integers(0, 900), q=positions)
    def time_goes_back(self, stamp, q):
        self.stamp, self.q = min(stamp * S, self.stamp), q
        self.receive(restarted=True)

    # -- contact ------------------------------------------------------------------------------

    @rule(push=st.sampled_from([0.0, 0.6, 60.0, -60.0, 100.0, -170.0]), count=st.integers(0, 40))
    def push(self, push, count):
        self.observer.push = push
        self.states(count, 5, np.zeros(2))

    @rule(
        pushes=st.lists(st.sampled_from([0.0, 0.6, 60.0]), min_size=1, max_size=6),
        every=st.integers(1, 120),
    )
    def contacts_in_a_gap_of_states(self, pushes, every):
        """The node has no states, and the observer has."""
        for push in pushes:
            self.observer.push = push
            self.stamp += every * MS
            self.publish()
        self.stamp += every * MS
        self.receive()

    @rule(alive=st.booleans(), knows=st.booleans(), count=st.integers(1, 80))
    def observer_ends_or_begins(self, alive, knows, count):
        self.observer.alive, self.observer.knows = alive, knows
        before = self.contact.silence
        self.states(count, 10, np.zeros(2))
        if alive and knows:
            assert self.contact.silence <= 100 * MS
        else:
            assert self.contact.silence >= min(before + (count - 1) * 10 * MS, SILENCE)

    @rule()
    def learn(self):
        self.observer.learning = ThresholdLearning(2, self.observer.thresholds, 2.0)

    @rule(seconds=st.sampled_from([1, 31]), push=st.sampled_from([0.0, 0.6, 60.0]))
    def motion_while_learning(self, seconds, push):
        if self.observer.learning is None:
            return
        for k in range(20 * seconds):
            t = self.stamp / S + 0.05 * k
            q = np.array([0.5, -0.4]) * np.sin(t)
            self.observer.sample(t, q, push, self.observer.contact(push))

    @rule()
    def end_learning(self):
        observer, run = self.observer, self.observer.learning
        if run is None:
            return
        before, observer.learning = observer.thresholds, None
        if not run.rejection(MODEL.joint_names):
            assert run.seconds > 29.9
            observer.thresholds = run.learned().thresholds
        # What was a collision is one, whatever was learned.
        assert observer.contact(60.0).kind == 'collision'
        assert run.collision is None or observer.thresholds is before

    # -- what to follow ---------------------------------------------------------------------

    @rule(
        when=st.sampled_from([None, None, -0.3, 0.2, 1.0]),
        first=st.sampled_from([0.0, 0.0, 0.01, 0.4]),
        offset=st.sampled_from([0.0, 0.3, 1.0]).flatmap(
            lambda part: offsets.map(lambda offset: part * offset)
        ),
        ways=st.lists(st.tuples(*2 * [st.floats(-1, 1)]), min_size=1, max_size=3),
        joints=st.sampled_from([[0, 1], [0, 1], [1, 0], [0], [1]]),
        count=st.integers(0, 60),
    )
    def trajectory(self, when, first, offset, ways, joints, count):
        """Begin near the reference, and go a part of the way, with some joints or all."""
        points, times = [self.last.q + offset], [first]
        for way in ways:
            goal = np.clip(points[-1] + way, MODEL.lower, MODEL.upper)
            way = np.abs(goal - points[-1])
            # No faster than the velocity limit, nor, from rest to rest, the acceleration limit.
            T = max(0.1, (1.6 * way / MODEL.velocity_limit).max(), np.sqrt(6.1 * way / MOST).max())
            points.append(goal)
            times.append(times[-1] + T)
        names = [MODEL.joint_names[j] for j in joints]
        rows = [point[joints] for point in points]
        given = Trajectory(names, times, rows, [np.zeros(len(joints))] * len(points))
        stamp = 0 if when is None else self.stamp + round(when * S)
        with suppress(TrajectoryError):
            self.follower.follow(given, stamp)
        self.states(count, 5, np.zeros(2))

    @rule(q=positions, streams=st.booleans())
    def begin_where_the_arm_was_led(self, q, streams):
        self.receive()  # what was accepted until now, where the arm was
        self.stamp += MS
        self.q = q
        self.receive()
        if streams:
            self.stream(Waypoint(q), None)
        else:
            given = Trajectory(MODEL.joint_names, [0.0, 0.1], [q, q], np.zeros((2, 2)))
            with suppress(TrajectoryError):
                self.follower.follow(given, 0)
        self.stamp += MS
        self.receive()

    @rule(
        when=st.sampled_from([0, 0, 300]),
        way=st.floats(-1, 1),
        joints=st.sampled_from([[0], [1], [1, 0]]),
    )
    def way_2(self, when, way, joints):
        """Another controller follows: a goal of some joints is completed, and nothing changes."""
        names = [MODEL.joint_names[j] for j in joints]
        goal = np.clip(self.last.q + way, MODEL.lower, MODEL.upper)[joints]
        given = Trajectory(names, [2.0], [goal], [np.zeros(len(joints))])
        doing = self.follower.doing
        with suppress(TrajectoryError):
            complete = self.follower.check(given, self.stamp + when * MS)
            assert complete.joint_names == MODEL.joint_names
            np.testing.assert_array_equal(complete.points[0, -1, joints], goal)
            others = np.setdiff1d([0, 1], joints)
            assert not np.ptp(complete.points[0][:, others], axis=0).any()  # they are held
            reference = self.follower.present
            present = self.q if reference is None else reference.q
            start = np.where(np.abs(present - self.q) > self.tolerance, self.q, present)
            assert when or (complete.points[0, 0, others] == start[others]).all()
            assert waypoint_efforts(self.arm, complete).shape == (len(complete.times), 2)
        assert self.follower.doing == doing
        self.receive()

    @rule(
        way=st.tuples(*2 * [st.floats(-0.6, 0.6)]).map(np.array),
        free=st.integers(0, 60),
        path=st.booleans(),
    )
    def obstacle(self, way, free, path):
        """The arm does not get through: the torque of the feedback ends, it is held softly."""
        zero, most = np.zeros(2), np.full(2, 0.03)
        tolerances = Tolerances(most if path else zero, most, 0.0, 0.1)
        goal = np.clip(self.last.q + way, MODEL.lower, MODEL.upper)
        try:
            self.follower.follow(
                Trajectory(MODEL.joint_names, [1.0], [goal], [zero]), 0, tolerances
            )
        except TrajectoryError:
            return
        execution = self.follower.execution
        self.states(free, 5, zero)
        self.qd = zero  # it stays here
        for _ in range(1500):
            self.stamp += 5 * MS
            self.receive()
            if execution.outcome is not None or self.follower.speed.rate < 0.1:
                break
        if execution.outcome not in (Outcome.PATH_VIOLATED, Outcome.GOAL_VIOLATED):
            return
        assert self.follower.violation == execution.reason
        for _ in range(10):
            np.testing.assert_array_equal(self.last, [self.q, zero, zero])
            self.stamp += 5 * MS
            self.receive()
        assert self.follower.violation == execution.reason

    @rule(
        where=offsets,
        qd=st.none() | offsets,
        faster=st.sampled_from([1, 1, 5, 40, 1e4]),
        back=st.sampled_from([0, 0, -3, 1, 60, 101, 5000]),
        stamped=st.booleans(),
    )
    def reference(self, where, qd, faster, back, stamped):
        point = Waypoint(self.last.q + where, None if qd is None else faster * qd)
        self.stream(point, self.stamp - back * MS if stamped else None)

    @rule(
        period=st.integers(3, 200),
        late=st.lists(st.integers(0, 30), min_size=2, max_size=30),
        kept=st.lists(st.sampled_from([True, True, True, False]), min_size=2, max_size=30),
        speed=st.sampled_from([0.1, 0.5, 1.1, 3.0]),
        jump=st.sampled_from([0.0, 0.0, 0.08, -0.3]),
        stamped=st.booleans(),
        moving=st.booleans(),
    )
    def stream_with_faults(self, period, late, kept, speed, jump, stamped, moving):
        """References from 5 to 300 Hz, late, several at once, some lost, with a jump midway."""
        q, sent, way = self.last.q, self.stamp, speed * MODEL.velocity_limit * np.array([1, -1])
        for k, (delay, arrives) in enumerate(zip(late, kept, strict=False)):
            at = sent + k * period * MS
            while self.stamp < at + delay * MS:
                self.stamp += 2 * MS
                self.track(np.zeros(2))
                self.receive()
            t = (k % 20) * period * 1e-3
            point = q + way * t + jump * (k > len(late) // 2)
            if arrives:
                self.stream(Waypoint(point, way if moving else None), at if stamped else None)

    @rule(
        count=st.integers(1, 20),
        spacing=st.integers(5, 60),
        ahead=st.integers(-100, 200),
        offset=offsets,
        stamped=st.booleans(),
        free=st.integers(0, 40),
    )
    def window(self, count, spacing, ahead, offset, stamped, free):
        """Points ahead of their time, of which the last one is reached with a velocity."""
        times = np.arange(count) * spacing * 1e-3
        ways = np.linspace(0.1, 1.0, count)[:, None] * offset
        points = [Waypoint(self.last.q + way) for way in ways]
        stamp = self.stamp + ahead * MS if stamped else None
        with suppress(TrajectoryError):
            self.follower.follow_window(times, points, stamp)
        self.states(free, 5, np.zeros(2))

    @rule(count=st.integers(2, 40), every=st.integers(1, 20))
    def smooth_stream(self, count, every):
        q, speed = self.last.q, np.array([0.2, -0.3])
        for k in range(count):
            at = q + speed * k * every * 1e-3
            self.stream(Waypoint(at, speed * min(1.0, k / 10)), self.stamp)
            self.stamp += every * MS
            self.track(np.zeros(2))
            self.receive()

    def stream(self, point, stamp):
        before = self.follower.motion
        try:
            self.follower.follow_reference(point, stamp)
        except TrajectoryError:
            assert self.follower.motion is before  # it goes on

    @rule()
    def stop(self):
        self.follower.stop()

    @rule()
    def release(self):
        self.follower.release()

    @rule(qd=offsets, count=st.integers(0, 40))
    def collision(self, qd, count):
        """The arm is thrown back, and stays where it then is."""
        self.qd = 10 * qd
        self.stamp += MS
        self.receive()
        self.follower.collide('collision')
        self.qd = np.zeros(2)
        for _ in range(count):
            self.stamp += 5 * MS
            self.receive()
            assert np.abs(self.last.q - self.q).max() < 1e-9
            assert not self.last.qd.any()

    @rule(scale=st.sampled_from([0.0, 0.05, 0.3, 1.0, 1.0]), count=st.integers(0, 60))
    def speed(self, scale, count):
        self.follower.speed.target = scale
        self.states(count, 5, np.zeros(2))

    # -- numbers of any size -------------------------------------------------------------------

    @rule(value=huge, joint=st.sampled_from([0, 1]), row=st.sampled_from(['position', 'velocity']))
    def state_that_no_joint_can_have(self, value, joint, row):
        rows = {'position': [*self.q], 'velocity': [*self.qd], 'effort': []}
        plain, wrong = (SimpleNamespace(name=MODEL.joint_names, **rows) for _ in range(2))
        setattr(wrong, row, [value if j == joint else x for j, x in enumerate(rows[row])])
        self.reader.reset()
        before = self.reader.read(plain, self.stamp)
        with pytest.raises(JointDataError, match=f"'{MODEL.joint_names[joint]}': {row} is"):
            self.reader.read(wrong, self.stamp + MS)
        after = self.reader.read(plain, self.stamp)
        assert after.stamp == before.stamp
        np.testing.assert_array_equal(after[1:3], before[1:3])

    @rule(sides=st.tuples(*4 * [st.sampled_from([0, 1])]), count=st.integers(1, 5))
    def state_at_the_bounds_of_what_is_received(self, sides, count):
        q = np.array([BOUNDS[side][j] for j, side in enumerate(sides[:2])])
        qd = np.array(BOUNDS.speed) * (2 * np.array(sides[2:]) - 1)
        self.q, self.qd = q, qd
        for _ in range(count):
            self.stamp += MS
            self.receive()
        self.q, self.qd = np.zeros(2), np.zeros(2)  # it was wrong
        self.stamp += MS
        self.receive()

    @rule(value=huge | st.just(np.nan), joint=st.sampled_from([0, 1]), row=st.sampled_from([0, 1]))
    def huge_reference(self, value, joint, row):
        rows = np.array(self.last[:2])
        rows[row, joint] = value
        with pytest.raises(TrajectoryError):
            self.follower.follow_reference(Waypoint(*rows), self.stamp)
        self.states(3, 1, np.zeros(2))

    @rule(
        value=huge,
        joint=st.sampled_from([0, 1]),
        row=st.sampled_from([0, 1, 2]),
        T=st.sampled_from([1e-200, 1.0, 1e200]),
    )
    def huge_trajectory(self, value, joint, row, T):
        rows = np.zeros((3, 2, 2))
        rows[0] = self.last.q
        rows[row, 1, joint] = value
        with pytest.raises(TrajectoryError):
            self.follower.follow(Trajectory(MODEL.joint_names, [0.0, T], *rows), 0)
        self.states(3, 1, np.zeros(2))

    @rule(value=huge, axis=st.sampled_from([0, 1, 2]))
    def huge_pose(self, value, axis):
        self.law_of_a_frame()
        goal = self.target.pose.copy()
        goal[axis, 3] = value
        with pytest.raises(TrajectoryError):
            self.poses.follow(goal, self.stamp)
        goal[axis, 3] = np.sign(value) * 1e3  # the largest one
        with suppress(TrajectoryError):
            self.poses.follow(goal, self.stamp)
        self.states(3, 1, np.zeros(2))

    @rule(value=huge, axis=st.integers(0, 5))
    def huge_wrench(self, value, axis):
        self.law_of_a_frame()
        self.target_wrench = value * np.eye(6)[axis]
        self.states(3, 1, np.zeros(2))
        self.target_wrench = np.zeros(6)

    # -- settings ---------------------------------------------------------------------------

    @rule(tolerance=st.tuples(*2 * [st.floats(0.0, 0.2)]).map(np.array))
    def another_tolerance(self, tolerance):
        self.receive()  # what was accepted until now
        self.tolerance = tolerance
        self.follower.adjust(MODEL, tolerance, TIMEOUT, self.tolerances)

    @rule(
        path=st.sampled_from([0.0, 0.01, 0.1]),
        goal=st.sampled_from([0.0, 0.005]),
        goal_time=st.sampled_from([0.0, 0.1]),
    )
    def tolerances_of_the_motion(self, path, goal, goal_time):
        self.tolerances = Tolerances(np.full(2, path), np.full(2, goal), 0.0, goal_time)
        self.follower.adjust(MODEL, self.tolerance, TIMEOUT, self.tolerances)

    @rule(law=st.sampled_from(sorted(LAWS)), kp=st.floats(0, 1e3), kd=st.floats(0, 50))
    def another_law(self, law, kp, kd):
        self.law, self.gains = LAWS[law], Gains(kp, kd)
        if self.follower.poses is None:
            self.follower.stop()
        else:
            self.follower.release()
            self.follower.poses = None

    # -- a frame on a spring -----------------------------------------------------------------

    @rule()
    def law_of_a_frame(self):
        if self.law is not None:
            self.law, self.follower.poses = None, self.poses
            self.follower.release()
            self.receive()

    @rule(
        way=st.tuples(*6 * [st.floats(-0.8, 0.8)]).map(np.array),
        count=st.integers(1, 60),
        every=st.integers(1, 30),
        follows=st.booleans(),
    )
    def stream_of_poses(self, way, count, every, follows):
        """Poses near the arm or beyond its reach, which it follows as far as it can, or not."""
        self.law_of_a_frame()
        goal = np.array(displaced(self.target.pose, way))
        for k in range(count):
            if k % every == 0:
                with suppress(TrajectoryError):  # a reset of time, or no state since a release
                    self.poses.follow(goal, self.stamp)
            self.stamp += 2 * MS
            if follows:
                J = self.arm.jacobian(self.q, FRAME)
                self.qd = np.clip(np.linalg.lstsq(J, self.target.velocity, 1e-2)[0], -1, 1)
                self.q = np.clip(self.q + 2e-3 * self.qd, MODEL.lower, MODEL.upper)
            self.receive()

    @rule(wrench=st.tuples(*6 * [st.floats(-50, 50)]).map(np.array))
    def wrench_on_the_environment(self, wrench):
        self.wrench = wrench
        self.states(3, 1, np.zeros(2))

    @rule(
        stiffness=st.floats(0, 5000),
        ratio=st.floats(0, 2),
        posture=st.sampled_from([0.0, 0.0, 30.0]),
    )
    def other_springs(self, stiffness, ratio, posture):
        self.springs = Impedance(stiffness, stiffness / 20, ratio, posture)
        self.states(3, 1, np.zeros(2))

    @rule(arm=st.sampled_from(ARMS))
    def another_payload(self, arm):
        self.arm = arm

    @rule(
        effort=st.floats(0.0, 1.0), full=st.floats(0.05, 1.0), ramp_time=st.sampled_from([0, 0.2])
    )
    def other_limits(self, effort, full, ramp_time):
        self.limits = Limits(effort * EFFORT, EFFORT / full, ramp_time)
        self.gate.limit(self.limits)


@pytest.mark.slow
def test_whatever_happens_no_reference_and_no_torque_jumps():
    run_state_machine_as_test(
        Motions, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )
