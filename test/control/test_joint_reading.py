# SPDX-License-Identifier: Apache-2.0
import contextlib
import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from robot_dynamics.control import VelocityFilter
from robot_dynamics.control.joint_reading import (
    JointDataError,
    JointMap,
    JointStateReader,
    state_bounds,
)
from robot_dynamics.core.model.robots import random_tree

NAMES = ('shoulder', 'elbow', 'wrist')
MS = 1_000_000
MODEL = replace(
    random_tree(3, np.random.default_rng(0), prismatic=0.0),
    joint_names=NAMES,
    velocity_limit=np.full(3, 1e5),  # the numbers of the state machine stay below ten times this
)


def message(name, position, velocity=(), effort=()):
    return SimpleNamespace(name=list(name), position=position, velocity=velocity, effort=effort)


@pytest.fixture
def reader():
    return JointStateReader(MODEL, input_timeout=0.1)


def test_joints_are_found_by_name_among_joints_of_other_robots(reader):
    state = reader.read(
        message(
            ['gripper', 'wrist', 'shoulder', 'elbow'],
            [9.0, 3.0, 1.0, 2.0],
            [90.0, 30.0, 10.0, 20.0],
            [900.0, 300.0, 100.0, 200.0],
        ),
        5,
    )
    assert state.stamp == 5
    np.testing.assert_array_equal(state.q, [1, 2, 3])
    np.testing.assert_array_equal(state.qd, [10, 20, 30])
    np.testing.assert_array_equal(state.effort, [100, 200, 300])


def test_no_state_before_every_joint_is_received(reader):
    assert reader.missing() == list(NAMES)
    assert reader.read(message(['shoulder'], [1.0]), 0) is None
    assert reader.missing() == ['elbow', 'wrist']
    assert reader.read(message(['gripper'], [1.0]), 1) is None
    assert reader.read(message(['wrist', 'elbow'], [3.0, 2.0]), 2).q.tolist() == [1, 2, 3]


def test_a_joint_keeps_its_value_until_the_timeout_and_no_longer(reader):
    reader.read(message(NAMES, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), 0)
    partial = message(['elbow', 'wrist'], [5.0, 6.0], [0.5, 0.6])
    held = reader.read(partial, 100 * MS)
    assert held.q.tolist() == [1, 5, 6]
    assert held.qd.tolist() == [0.1, 0.5, 0.6]
    assert reader.read(partial, 101 * MS) is None
    assert reader.missing() == ['shoulder']
    assert reader.read(message(['shoulder'], [7.0], [0.7]), 102 * MS).q.tolist() == [7, 5, 6]


def test_values_are_dropped_when_time_runs_backwards(reader):
    assert not reader.read(message(NAMES, [1.0, 2.0, 3.0]), 500 * MS).restarted
    assert reader.read(message(['elbow'], [0.0]), 399 * MS) is None
    assert reader.missing() == ['shoulder', 'wrist']
    assert reader.read(message(['shoulder', 'wrist'], [1.0, 3.0]), 400 * MS).restarted
    assert not reader.read(message(NAMES, [1.0, 2.0, 3.0]), 401 * MS).restarted


@pytest.mark.parametrize('late', [1, 10, 100])
@pytest.mark.parametrize('names', [NAMES, NAMES[::-1], NAMES[1:2]])
def test_a_late_state_is_rejected_and_changes_nothing(reader, names, late):
    reader.read(message(NAMES, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), 500 * MS)
    with pytest.raises(JointDataError, match=f'{late} ms before that of the last state'):
        reader.read(message(names, [9.0] * len(names)), (500 - late) * MS)
    state = reader.read(message(['wrist'], [4.0], [0.4]), 501 * MS)
    assert (state.q.tolist(), state.qd.tolist()) == ([1, 2, 4], [0.1, 0.2, 0.4])
    assert not state.restarted


def test_of_two_publishers_of_all_joints_the_newer_one_counts(reader):
    stamps = []
    for k in range(500, 600, 2):
        for stamp in (k, k - 15):
            with contextlib.suppress(JointDataError):
                stamps.append(reader.read(message(NAMES, [1.0, 2.0, 3.0]), stamp * MS).stamp)
    assert stamps == [k * MS for k in range(500, 600, 2)]


def test_a_late_state_that_is_repeated_is_a_reset(reader):
    """As of a simulation in lock step that was reset early, and waits for an answer."""
    reader.read(message(NAMES, [1.0, 2.0, 3.0]), 50 * MS)
    again = message(NAMES, [7.0, 8.0, 9.0])
    with pytest.raises(JointDataError):
        reader.read(again, 0)
    state = reader.read(again, 0)
    assert state.restarted
    assert (state.stamp, state.q.tolist()) == (0, [7, 8, 9])
    # Not if time has gone on meanwhile.
    reader.read(again, 50 * MS)
    for k in range(60, 100, 10):
        with pytest.raises(JointDataError):
            reader.read(again, 40 * MS)
        assert not reader.read(again, k * MS).restarted


def test_drivers_of_different_joints_may_overtake_each_other(reader):
    reader.read(message(['shoulder', 'elbow'], [1.0, 2.0]), 500 * MS)
    state = reader.read(message(['wrist'], [3.0]), 499 * MS)
    assert state.q.tolist() == [1, 2, 3]
    assert state.stamp == 500 * MS
    assert not state.restarted


def test_an_overtaken_message_does_not_renew_other_joints(reader):
    reader.read(message(NAMES, [1.0, 2.0, 3.0]), 0)
    assert reader.read(message(['elbow'], [2.0]), 101 * MS) is None
    assert reader.missing() == ['shoulder', 'wrist']
    assert reader.read(message(['wrist'], [3.0]), 50 * MS) is None
    assert reader.missing() == ['shoulder']


def test_a_joint_that_goes_back_counts_even_if_another_goes_forward(reader):
    reader.read(message(['shoulder'], [1.0]), 210 * MS)
    reader.read(message(['elbow'], [2.0]), 105 * MS)
    reader.read(message(['wrist'], [3.0]), 220 * MS)
    assert reader.read(message(['shoulder', 'elbow'], [1.5, 2.5]), 107 * MS) is None
    assert reader.missing() == ['wrist']
    assert reader.read(message(['wrist'], [3.5]), 108 * MS).restarted


class Received(NamedTuple):
    """Last values of a joint in the model of the reader."""

    stamp: int
    position: float
    velocity: float
    effort: float
    measured: int  # stamp of the velocity


class ReaderMachine(RuleBasedStateMachine):
    """The reader against its definition, joint by joint, in any order of events."""

    def __init__(self):
        super().__init__()
        self.timeout, self.received, self.newest, self.restarted = 50, {}, -1, False
        self.late = None
        self.reader = JointStateReader(MODEL, self.timeout * 1e-3)
        self.numbers = itertools.count(1)

    def expected(self):
        """Return the names of the joints without a recent value."""
        return [
            name
            for name in NAMES
            if name not in self.received or self.newest - self.received[name].stamp > self.timeout
        ]

    @rule(
        names=st.lists(st.sampled_from([*NAMES, 'gripper', 'rail']), min_size=1, unique=True),
        stamp=st.integers(0, 200),
        velocity=st.sampled_from(['given', 'empty', 'nan']),
        effort=st.sampled_from(['given', 'empty', 'nan']),
    )
    def read(self, names, stamp, velocity, effort):
        def numbers(kind):
            values = [(-1) ** k * float(k) for k in itertools.islice(self.numbers, len(names))]
            return {'given': values, 'empty': [], 'nan': [math.nan] * len(names)}[kind]

        sent = message(names, numbers('given'), numbers(velocity), numbers(effort))
        known = [name for name in names if name in NAMES]
        before = max([-1, *(self.received[n].stamp for n in known if n in self.received)])
        if stamp < before:
            if before - stamp <= self.timeout and stamp != self.late:
                self.late = stamp
                with pytest.raises(JointDataError):
                    self.reader.read(sent, stamp * MS)
                return
            self.received, self.newest, self.restarted = {}, -1, True
        state = self.reader.read(sent, stamp * MS)
        if known and stamp > self.newest:
            self.newest, self.late = stamp, None
        for k, name in enumerate(names):
            if name in NAMES:
                row = [
                    sent.position[k],
                    *(v[k] if v else math.nan for v in (sent.velocity, sent.effort)),
                    stamp,
                ]
                if math.isnan(row[1]) and name in self.received:  # its velocity is held
                    last = self.received[name]
                    row[1], row[3] = last.velocity, last.measured
                self.received[name] = Received(stamp, *row)
        if not known or self.expected():
            assert state is None
            return
        assert state.stamp == self.newest * MS
        assert state.restarted == self.restarted
        self.restarted = False
        too_old = any(self.newest - self.received[n].measured > self.timeout for n in NAMES)
        for values, quantity in zip(state[1:4], Received._fields[1:4], strict=True):
            wanted = [getattr(self.received[name], quantity) for name in NAMES]
            if any(map(math.isnan, wanted)) or (quantity == 'velocity' and too_old):
                assert values is None
            else:
                assert values.tolist() == wanted

    @rule(bad=st.sampled_from([[math.nan] * 3, [math.inf, 0.0, 0.0], [0.0]]))
    def read_what_is_rejected(self, bad):
        with pytest.raises(JointDataError):
            self.reader.read(message(NAMES, bad), 0)

    @rule(timeout=st.integers(0, 100))
    def adjust(self, timeout):
        self.timeout = timeout
        self.reader.adjust(timeout * 1e-3, None)

    @rule()
    def reset(self):
        self.received, self.newest, self.late = {}, -1, None
        self.reader.reset()

    @invariant()
    def it_names_the_missing_joints(self):
        assert self.reader.missing() == self.expected()


TestReaderMachine = ReaderMachine.TestCase


def test_the_state_is_a_copy(reader):
    first = reader.read(message(NAMES, [1.0, 2.0, 3.0]), 0)
    reader.read(message(NAMES, [4.0, 5.0, 6.0]), 1)
    assert first.q.tolist() == [1, 2, 3]


@pytest.mark.parametrize('velocity', [(), [0.0, np.nan, 0.0], [np.inf, 0.0, 0.0]])
def test_a_missing_velocity_is_none_and_never_zero(reader, velocity):
    state = reader.read(message(NAMES, [1.0, 2.0, 3.0], velocity), 0)
    assert state.qd is None
    assert state.q.tolist() == [1, 2, 3]


@pytest.mark.parametrize('joint', range(3))
@pytest.mark.parametrize('missing', ['nan', 'inf', 'all'])
def test_a_missing_velocity_is_bridged_until_the_timeout_and_no_longer(reader, joint, missing):
    reader.read(message(NAMES, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), 0)
    given = [] if missing == 'all' else [0.5, 0.6, 0.7]
    expected = given.copy() or [0.1, 0.2, 0.3]
    expected[joint] = [0.1, 0.2, 0.3][joint]
    if given:
        given[joint] = float(missing)
    held = reader.read(message(NAMES, [4.0, 5.0, 6.0], given), 100 * MS)
    assert (held.q.tolist(), held.qd.tolist()) == ([4, 5, 6], expected)
    assert reader.read(message(NAMES, [4.0, 5.0, 6.0], given), 101 * MS).qd is None
    assert reader.read(message(NAMES, [4.0, 5.0, 6.0], [7.0] * 3), 102 * MS).qd.tolist() == [7] * 3


def test_a_joint_of_another_robot_may_be_nan(reader):
    state = reader.read(message(['gripper', *NAMES], [np.nan, 1.0, 2.0, 3.0]), 0)
    assert state.q.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ('bad', 'why'),
    [
        (message(NAMES, [1.0, np.nan, 3.0]), 'position must be finite: elbow = nan'),
        (message(NAMES, [1.0, 2.0, -np.inf]), 'position must be finite: wrist = -inf'),
        (message(NAMES, [1.0, 2.0]), '2 positions for 3 joint names'),
        (message(NAMES, [1.0, 2.0, 3.0, 4.0]), '4 positions for 3 joint names'),
        (message(NAMES, [1.0, 2.0, 3.0], [0.0]), '1 entries of velocity for 3'),
        (message(NAMES, [1.0, 2.0, 3.0], [], [0.0] * 4), '4 entries of effort for 3'),
        (message(['elbow', 'elbow'], [1.0, 2.0]), 'elbow is named more than once'),
    ],
)
def test_an_invalid_message_is_rejected_and_changes_nothing(reader, bad, why):
    reader.read(message(NAMES, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), 0)
    with pytest.raises(JointDataError, match=why):
        reader.read(bad, MS)
    partial = reader.read(message(['wrist'], [6.0], [0.6]), 2 * MS)
    assert partial.q.tolist() == [1, 2, 6]
    assert partial.qd.tolist() == [0.1, 0.2, 0.6]


def test_a_complete_command_is_put_in_order():
    joints = JointMap(NAMES)
    tau = joints.complete(['wrist', 'shoulder', 'elbow'], [3.0, 1.0, 2.0], 'effort')
    assert tau.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ('names', 'values', 'why'),
    [
        (['shoulder', 'elbow'], [1.0, 2.0], 'missing wrist, unknown none'),
        ([*NAMES, 'gripper'], [1.0] * 4, 'missing none, unknown gripper'),
        (NAMES, [1.0, 2.0], '2 values for 3 names'),
        (NAMES, [], '0 values for 3 names'),
        ([*NAMES, 'elbow'], [1.0] * 4, 'elbow is named more than once'),
        (NAMES, [1.0, np.nan, 3.0], 'effort must be finite: elbow = nan'),
    ],
)
def test_an_incomplete_command_is_rejected(names, values, why):
    with pytest.raises(JointDataError, match=why):
        JointMap(NAMES).complete(list(names), values, 'effort')


def test_velocities_that_are_missing_are_estimated_on_request():
    reader = JointStateReader(MODEL, 0.1, VelocityFilter(cutoff=50.0))
    slope = np.array([1.0, -2.0, 0.5])
    first = reader.read(message(NAMES, [0.0, 0.0, 0.0]), 0)
    assert first.qd is None
    for k in range(1, 20):
        velocity = [np.nan] * 3 if k % 2 else ()
        state = reader.read(message(NAMES, slope * k * 1e-3, velocity), k * MS)
        np.testing.assert_allclose(state.qd, slope, rtol=1e-9)
    # A measured velocity is preferred, and after a reset the estimate begins anew.
    assert reader.read(message(NAMES, [0.0] * 3, [7.0] * 3), 20 * MS).qd.tolist() == [7.0] * 3
    assert reader.read(message(NAMES, [0.0] * 3), 70 * MS).qd.tolist() == [7.0] * 3
    estimated = reader.read(message(NAMES, slope * 51e-3), 121 * MS)
    np.testing.assert_allclose(estimated.qd, slope, rtol=1e-6)
    assert reader.read(message(NAMES, [1.0, 1.0, 1.0]), 0).qd is None


# -- values that no joint can have -----------------------------------------------------------

INF = math.inf
# Kind of the joint, lower, upper, velocity limit: bounds of its position and its velocity.
BOUNDS = {
    'revolute': (True, -2.0, 3.0, 2.0, -2.0 - 20 * np.pi, 3.0 + 20 * np.pi, 20.0),
    'prismatic': (False, -0.1, 0.4, 0.5, -0.1 - 6.0, 0.4 + 6.0, 5.0),
    'continuous': (True, -INF, INF, INF, -1e5, 1e5, 1e3),
    'rail': (False, -INF, INF, INF, -1e3, 1e3, 1e3),
    'without range': (True, 0.5, 0.5, 1.0, -1e5, 1e5, 10.0),
    'one limit': (True, 0.0, INF, 0.0, -1e5, 1e5, 1e3),
    'any number': (True, -1e16, 1e16, 1e16, -1e5, 1e5, 1e3),
}


def arm_of(*kinds):
    angular, lower, upper, speed = zip(*(BOUNDS[kind][:4] for kind in kinds), strict=True)
    tree = random_tree(len(kinds), np.random.default_rng(1))
    names = tuple(f'{kind}_{k}' for k, kind in enumerate(kinds))
    return replace(
        tree,
        joint_names=names,
        revolute=np.array(angular),
        lower=np.array(lower),
        upper=np.array(upper),
        velocity_limit=np.array(speed),
    )


def test_bounds_of_every_kind_of_joint():
    bounds = state_bounds(arm_of(*BOUNDS))
    expected = zip(*(row[4:] for row in BOUNDS.values()), strict=True)
    for found, wanted in zip(bounds, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


@pytest.mark.parametrize('kind', BOUNDS)
def test_a_value_beyond_the_bounds_is_rejected_by_name_and_changes_nothing(kind):
    """As one joint of two, as one of a part of them, in either direction, however large."""
    *_, lower, upper, speed = BOUNDS[kind]
    model = arm_of('continuous', kind)
    first, name = model.joint_names
    reader = JointStateReader(model, input_timeout=0.1)
    reader.read(message(model.joint_names, [1.0, 0.1], [0.1, 0.2]), 0)
    for names, others in ((model.joint_names, [1.0]), ([name], [])):
        for edge in (lower, upper):
            for value in (np.nextafter(edge, 2 * edge), np.sign(edge) * 1e308):
                with pytest.raises(JointDataError, match=f"joint '{name}': position is"):
                    reader.read(message(names, [*others, value]), MS)
        for sign in (-1, 1):
            for value in (np.nextafter(speed, INF), 1e308):
                sent = message(names, [*others, 0.1], [*others, sign * value])
                with pytest.raises(JointDataError, match=f"joint '{name}': velocity is"):
                    reader.read(sent, MS)
    held = reader.read(message([first], [2.0], [0.3]), MS)
    assert (held.q.tolist(), held.qd.tolist()) == ([2.0, 0.1], [0.3, 0.2])
    # At the bound it is received.
    for q, qd in ((lower, -speed), (upper, speed)):
        state = reader.read(message(model.joint_names, [0.0, q], [0.0, qd]), 2 * MS)
        assert (state.q[1], state.qd[1]) == (q, qd)


def test_other_robots_joints_and_missing_velocities_have_no_bounds(reader):
    sent = message(['gripper', *NAMES], [1e308, 1.0, 2.0, 3.0], [1e308, -INF, np.nan, INF])
    state = reader.read(sent, 0)
    assert state.q.tolist() == [1, 2, 3]
    assert state.qd is None


@pytest.mark.parametrize('parts', [[(0, 1)], [(0,), (1,)]])
def test_an_estimated_velocity_beyond_its_bound_is_rejected_and_the_filter_goes_on(parts):
    """One sample of an encoder is off by a turn; before and after it the estimate is the slope."""
    model = arm_of('revolute', 'continuous')
    reader, slope = JointStateReader(model, 0.1, VelocityFilter()), np.array([1.0, -0.5])
    for k in range(40):
        q = slope * k * 1e-3
        q[0] += 2 * np.pi * (k == 20)
        for part in parts:
            names = [model.joint_names[j] for j in part]
            sent = message(names, q[list(part)].tolist())
            if k == 20 and 0 in part:
                with pytest.raises(JointDataError, match="'revolute_0': estimated velocity is"):
                    reader.read(sent, k * MS)
                continue
            state = reader.read(sent, k * MS)
            assert state is None or abs(state.q[0]) < 1
            if len(parts) == 1 and state.qd is not None:
                np.testing.assert_allclose(state.qd, slope, rtol=1e-9)
            elif state is not None and state.qd is not None:
                assert (np.abs(state.qd) <= [20.0, 1e3]).all()
    assert state.qd is not None


def test_a_position_that_stays_elsewhere_is_received_after_a_gap():
    """The encoder was set: its new position is rejected while it would be a motion."""
    model, states = arm_of('revolute'), []
    reader = JointStateReader(model, 0.1, VelocityFilter(max_gap=0.05))
    for k in range(200):
        try:
            states.append(reader.read(message(model.joint_names, [6.0 * (k >= 50)]), k * MS))
        except JointDataError:
            states.append(None)
    first = next(k for k in range(50, 200) if states[k] is not None)
    assert first <= 50 + 51
    assert all(state is not None for state in states[first:])
    assert states[-1].qd.tolist() == [0.0]
