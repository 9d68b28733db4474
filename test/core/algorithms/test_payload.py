# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.codegen.tracing.trace import trace
from robot_dynamics.common.errors import FrameNotFound, ModelError
from robot_dynamics.core.algorithms import forward_dynamics, potential_energy, rnea, with_payload
from robot_dynamics.core.algorithms.payload import carrier_moments, with_carrier
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.inertia import to_parameters
from robot_dynamics.core.model.robots import random_inertial


@pytest.fixture
def load():
    return random_inertial(np.random.default_rng(3))


def test_equals_the_model_with_that_payload(robot, load, relative):
    frame = robot.frames[-1]
    heavier = robot.model.with_payload(frame, load.mass, load.com, load.inertia_com)
    expected = canonical_tree(heavier)
    ours = with_payload(robot.tree, frame, to_parameters(load).tolist())
    for q, qd, x in robot.states:
        assert relative(rnea(ours, q, qd, x), rnea(expected, q, qd, x)) < 1e-12
        weight = 9.81 * heavier.mass.sum()
        assert abs(potential_energy(ours, q) - potential_energy(expected, q)) < 1e-13 * weight
        a, b = forward_dynamics(ours, q, qd, x), forward_dynamics(expected, q, qd, x)
        assert relative(a, b) < 1e-6


def test_can_be_an_input_of_a_program(robot, load):
    n, frame = robot.model.n, robot.frames[-1]

    def torque(parameters, q):
        rest = [0.0] * n
        return rnea(with_payload(robot.tree, frame, parameters), q, rest, rest)

    program = trace(torque, {'parameters': 10, 'q': n})
    used = {node[2] for node in program.nodes if node[0] == 'input' and node[1] == 'parameters'}
    # At rest only mass and first moment act, those of them that change a torque in some posture.
    assert used <= {0, 1, 2, 3}
    loaded = [with_payload(robot.tree, frame, row) for row in np.eye(10).tolist()]
    rest = [0.0] * n
    still = [[rnea(tree, q, rest, rest) for q, _, _ in robot.states] for tree in loaded]
    without = np.array([rnea(robot.tree, q, rest, rest) for q, _, _ in robot.states])
    change = np.abs(np.array(still) - without).max(axis=(1, 2))
    assert used == set(np.flatnonzero(change > 1e-9 * np.abs(without).max()))


def test_unknown_and_fixed_frames_are_rejected(robot):
    with pytest.raises(FrameNotFound):
        with_payload(robot.tree, 'nowhere', [0.0] * 10)
    with pytest.raises(ModelError, match='fixed to the base'):
        with_payload(robot.tree, robot.frames[0], [0.0] * 10)


def test_moments_of_the_carrier_can_be_taken_out_and_put_back(robot, load, relative):
    frame = robot.frames[-1]
    loaded = with_payload(robot.tree, frame, to_parameters(load).tolist())
    moments = carrier_moments(loaded, frame)
    assert len(moments) == 10
    again = with_carrier(robot.tree, frame, moments)
    for q, qd, x in robot.states:
        np.testing.assert_array_equal(rnea(again, q, qd, x), rnea(loaded, q, qd, x))


def test_payloads_of_a_batch_of_arms(robot, load):
    frame, each = robot.frames[-1], np.outer([0.0, 1.0, 2.5], to_parameters(load))
    together = carrier_moments(with_payload(robot.tree, frame, list(each.T)), frame)
    for k, parameters in enumerate(each):
        alone = carrier_moments(with_payload(robot.tree, frame, parameters.tolist()), frame)
        assert [np.broadcast_to(entry, 3)[k] for entry in together] == alone
