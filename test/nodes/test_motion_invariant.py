"""The reference is continuous, or the arm is held where it is, softly: events in any order.

A reference is continuous if its position changes no faster than the velocity limit, or by
start_tolerance where single references stream, and its velocity no faster than the acceleration
limit. Softly: the torque changes no faster than its rate limit, always.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from robot_dynamics.control import LAWS, Gains, Reference, Switches, Trajectory
from robot_dynamics.control.joint_state import JointReading
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.reference_following import CLOSE, ReferenceFollower
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.torque_limiting import LONGEST_STEP, Limits, TorqueGate
from robot_dynamics.control.transitions import stopping_time
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.robots import planar_2r

S, MS = 1_000_000_000, 1_000_000
TIMEOUT = 0.1  # s, input_timeout
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

positions = st.tuples(st.floats(-1.9, 2.9), st.floats(-2.4, 1.4)).map(np.array)
offsets = st.tuples(*2 * [st.floats(-0.12, 0.12)]).map(np.array)
small = st.tuples(*2 * [st.floats(-0.02, 0.02)]).map(np.array)


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
        self.law, self.gains = LAWS['feedforward'], Gains(50.0, 5.0)
        self.stamp, self.last, self.clock = 1000 * S, None, None
        self.q = self.seen = q
        self.since, self.streamed = 0.0, self.stamp  # s and ns, of the last streamed reference
        self.receive()

    def receive(self, restarted=False, returned=False):
        """Receive a state, and check what is commanded for it."""
        state = JointReading(self.stamp, self.q, np.zeros(2), None, restarted)
        reference, _ = self.follower.reference(state, returned)
        if self.follower.placed:
            self.gate.soften()
        before, tau = (
            self.gate.last,
            self.law(self.arm, reference, state.q, state.qd, Switches(), self.gains).tau,
        )
        after = self.gate(self.stamp, tau)
        dt = 0.0 if self.clock is None else (self.stamp - self.clock) / S
        if restarted:
            dt = 0.0
        most = self.limits.rate * np.clip(dt, 0.0, LONGEST_STEP)
        assert (np.abs(after - before) <= most * (1 + 1e-9) + 1e-9).all()
        self.check(reference, max(0.0, dt))
        self.clock = self.stamp
        self.last, self.seen = reference, self.q

    def check(self, reference, dt):
        assert all(np.isfinite(row).all() for row in reference)
        if self.follower.placed:
            # A reference of a stream was accepted where the arm was at the last state.
            allowed = self.tolerance + np.abs(self.q - self.seen)
            assert (np.abs(reference.q - self.q) <= allowed + 1e-9).all()
            return
        step = np.abs(reference.q - self.last.q)
        continuous = step <= np.maximum(self.tolerance, MODEL.velocity_limit * dt) + 1e-6
        there = np.abs(reference.q - self.q) <= self.tolerance
        assert (continuous | (there & (dt > TIMEOUT))).all()
        # Between two references of a stream its velocity may change as over the whole time.
        streams = self.follower.doing.startswith('following a stream')
        since = max(dt, CLOSE, min(self.since, TIMEOUT) if streams else 0.0)
        change = np.abs(reference.qd - self.last.qd)
        assert (change <= MOST * since * 1.001 + 1e-5).all()

    def track(self, error):
        """Let the arm be near the reference."""
        self.q = self.last.q + np.clip(error, -self.tolerance / 3, self.tolerance / 3)

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
        elif on_the_path and self.follower._motion is not None:
            self.q = self.follower._motion.sample(self.stamp).q
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
            self.stream(Reference(q, np.zeros(2), np.zeros(2)))
        else:
            given = Trajectory(MODEL.joint_names, [0.0, 0.1], [q, q], np.zeros((2, 2)))
            with suppress(TrajectoryError):
                self.follower.follow(given, 0)
        self.stamp += MS
        self.receive()

    @rule(where=offsets, qd=offsets, qdd=offsets, faster=st.sampled_from([1, 1, 5, 40, 1e4]))
    def reference(self, where, qd, qdd, faster):
        self.stream(Reference(self.last.q + where * 0.5, faster * qd, faster * qdd))

    @rule(count=st.integers(2, 40), every=st.integers(1, 20))
    def smooth_stream(self, count, every):
        q, speed = self.last.q, np.array([0.2, -0.3])
        for k in range(count):
            at = q + speed * k * every * 1e-3
            self.stream(Reference(at, speed * min(1.0, k / 10), np.zeros(2)))
            self.stamp += every * MS
            self.track(np.zeros(2))
            self.receive()

    def stream(self, reference):
        since = (self.stamp - self.streamed) / S
        with suppress(TrajectoryError):
            self.follower.follow_reference(reference)
            self.since, self.streamed = since, self.stamp

    @rule()
    def stop(self):
        self.follower.stop()

    @rule()
    def release(self):
        self.follower.release()

    @rule(scale=st.sampled_from([0.0, 0.05, 0.3, 1.0, 1.0]), count=st.integers(0, 60))
    def speed(self, scale, count):
        self.follower.speed.target = scale
        self.states(count, 5, np.zeros(2))

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
        self.follower.stop()

    @rule(arm=st.sampled_from(ARMS))
    def another_payload(self, arm):
        self.arm = arm

    @rule(
        effort=st.floats(0.0, 1.0), full=st.floats(0.05, 1.0), ramp_time=st.sampled_from([0, 0.2])
    )
    def other_limits(self, effort, full, ramp_time):
        self.limits = Limits(effort * EFFORT, EFFORT / full, ramp_time)
        self.gate.limit(self.limits)


def test_whatever_happens_no_reference_and_no_torque_jumps():
    run_state_machine_as_test(
        Motions, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )
