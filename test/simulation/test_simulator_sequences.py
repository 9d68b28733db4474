# SPDX-License-Identifier: Apache-2.0
"""Laws that hold in every step of a simulator, after any sequence of commands."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.simulation import (
    INTEGRATORS,
    InelasticStop,
    JointModels,
    Simulator,
    SpringDamperStop,
)

N = 3
LINKS = ('link2', 'link3')
COULOMB = np.array([30.0, 6.0, 0.0])
LOWER, UPPER = np.array([-0.2, -0.5, -np.inf]), np.array([0.3, 0.1, 0.4])
STOPS = (None, InelasticStop(), SpringDamperStop([2e4, 1e4, 5e3], 20.0))

ARM = Dynamics(
    replace(
        random_tree(N, np.random.default_rng(12)).with_actuation(viscous=0.2, coulomb=COULOMB),
        lower=LOWER,
        upper=UPPER,
        effort_limit=np.full(N, np.inf),
    )
)

# Away from limits, at them, and beyond them; still, and moving either way.
positions = st.tuples(*[st.sampled_from([-0.6, -0.5, -0.2, 0.0, 0.1, 0.3, 0.4, 0.45])] * N)
velocities = st.tuples(*[st.sampled_from([0.0, 0.0, 1e-3, -1e-3, 1.0, -4.0])] * N)
# Of the torque that holds the arm; beyond breakaway, and against it.
pushes = st.tuples(*[st.sampled_from([0.0, 0.0, 3.0, -3.0, 80.0, -80.0])] * N)


class Sequences(RuleBasedStateMachine):
    """Steps, resets, payloads and snapshots in any order."""

    def __init__(self):
        super().__init__()
        self.snapshots = []

    @initialize(
        friction=st.sampled_from(['smooth', 'stick_slip']),
        stops=st.sampled_from(STOPS),
        integrator=st.sampled_from([*INTEGRATORS]),
    )
    def start(self, friction, stops, integrator):
        self.joint_models = JointModels(friction=friction, stops=stops)
        make = {
            'joint_models': self.joint_models,
            'integrator': integrator,
            'payload_links': LINKS,
        }
        self.simulator = Simulator(ARM, **make)
        # It is set to the same state before each step: nothing else may have an effect.
        self.other = Simulator(ARM, **make)
        self.steps = 0

    @rule(q=positions, qd=velocities)
    def reset(self, q, qd):
        self.simulator.reset(q, qd)
        self.steps = 0

    @rule()
    def reset_to_rest_at_the_last_place(self):
        self.simulator.reset(self.simulator.q)
        self.steps = 0

    @rule(push=pushes, count=st.integers(1, 4), holding=st.booleans())
    def step(self, push, count, holding):
        for _ in range(count):
            q, qd = self.simulator.q, self.simulator.qd
            tau = np.array(push) + holding * self.simulator.arm.gravity_torque(q)
            self.simulator.step(tau)
            self.steps += 1
            self.check(q, qd, tau)
            self.other.reset(q, qd)
            self.other.step(tau)
            for name in ('q', 'qd', 'effort'):
                ours, theirs = getattr(self.simulator, name), getattr(self.other, name)
                assert ours.tobytes() == theirs.tobytes(), name

    def check(self, q, qd, tau):
        after, v = self.simulator.q, self.simulator.qd
        if isinstance(self.joint_models.stops, InelasticStop):
            # At most to the limit; from beyond it not farther.
            assert (after >= np.minimum(LOWER, q)).all()
            assert (after <= np.maximum(UPPER, q)).all()
        if self.joint_models.friction == 'stick_slip':
            rests = (qd == 0) & (v == 0) & (COULOMB > 0)
            assert (after[rests] == q[rests]).all()
        if not (qd.any() or v.any()):
            # Nothing moves: each joint is held by its friction, or by the stop it is at.
            friction = tau - self.simulator.arm.gravity_torque(q)
            below = np.where(q >= UPPER, np.inf, COULOMB)
            above = np.where(q <= LOWER, np.inf, COULOMB)
            assert (friction <= below + 1e-9).all()
            assert (friction >= -above - 1e-9).all()

    @rule(link=st.sampled_from(LINKS), mass=st.sampled_from([0.0, 0.5, 8.0]))
    def change_the_payload(self, link, mass):
        before = self.simulator.q.tobytes(), self.simulator.qd.tobytes()
        for simulator in (self.simulator, self.other):
            if link in simulator.payloads:
                simulator.drop(link)
            else:
                simulator.attach(link, mass, [0.1, 0.0, 0.05])
        assert before == (self.simulator.q.tobytes(), self.simulator.qd.tobytes())

    @rule()
    def take_a_snapshot(self):
        self.snapshots.append((self.simulator.snapshot(), dict(self.simulator.payloads)))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def go_back(self, data):
        snapshot, payloads = data.draw(st.sampled_from(self.snapshots))
        self.simulator.restore(snapshot)
        self.other.restore(snapshot)
        assert self.simulator.payloads == payloads
        self.steps = snapshot.steps

    @invariant()
    def time_is_a_count_of_steps(self):
        if hasattr(self, 'simulator'):
            assert self.simulator.steps == self.steps


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)


# -- pairs and transitions, one by one ------------------------------------------------------------


def hold(simulator):
    """Return the torques that hold the arm."""
    return simulator.arm.gravity_torque(simulator.q)


@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_one_of_two_joints_leaves_its_stop_and_the_other_stays(integrator):
    joint_models = JointModels(stops=InelasticStop())
    simulator = Simulator(
        ARM, q=[0.3, -0.5, 0.0], joint_models=joint_models, integrator=integrator
    )
    for _ in range(5):
        simulator.step(hold(simulator) + np.array([60.0, -40.0, 0.0]))
        assert simulator.q[:2].tolist() == [0.3, -0.5]
    last = -0.5
    for _ in range(5):
        simulator.step(hold(simulator) + np.array([60.0, 40.0, 0.0]))
        assert simulator.q[0] == 0.3
        assert simulator.q[1] >= last
        last = simulator.q[1]
    assert last > -0.5


def test_a_payload_breaks_a_stuck_arm_loose_and_without_it_the_arm_rests_again():
    simulator = Simulator(
        ARM,
        q=[0.1, -0.1, 0.1],
        joint_models=JointModels(friction='stick_slip'),
        payload_links=LINKS,
    )
    unloaded = hold(simulator)
    for _ in range(5):
        simulator.step(unloaded)
    assert not simulator.qd[:2].any()
    simulator.attach('link3', 50.0, [0.3, 0.0, 0.2])
    simulator.step(unloaded)
    assert simulator.qd.any()
    simulator.drop('link3')
    for _ in range(3000):
        simulator.step(hold(simulator))
    assert not simulator.qd[:2].any()
