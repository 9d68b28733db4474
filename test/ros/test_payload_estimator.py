# SPDX-License-Identifier: Apache-2.0
"""The service ~/estimate_payload of dynamics_node: estimate, errors, and what it leaves alone."""

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from rclpy.parameter import Parameter
from recorded_runs import lively, torque
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics.common.resources import share_file
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.ros import messages, payload_estimator, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.urdf.loading import load_urdf

PANDA = share_file('urdf/panda.urdf')
MODEL = load_urdf(PANDA)
LINK, MASS, COM = 'panda_link8', 0.8, np.array([0.01, 0.02, 0.08])
RATE, START = 250.0, 1000 * SECOND


@pytest.fixture(scope='module')
def motion():
    """Return times, positions, velocities and efforts of an arm that carries a payload."""
    t, q, qd, qdd = lively(MODEL, duration=8.0, rate=RATE)
    tau = torque(MODEL.with_payload(LINK, MASS, COM), q, qd, qdd)
    return t, q, qd, tau + 0.1 * np.random.default_rng(0).normal(size=q.shape)


@pytest.fixture
def start(graph):
    def start(**parameters):
        node = graph.start(DynamicsNode, description=PANDA.read_text(), **parameters)
        return node, graph.publisher(JointState, 'joint_states')

    return start


def publish(graph, node, states, t, q, qd, effort):
    """Publish joint states, none faster than the node takes them."""
    for k, (s, *values) in enumerate(zip(t, q, qd, effort, strict=True)):
        position, velocity, tau = (x.tolist() for x in values)
        message = JointState(
            name=list(MODEL.joint_names), position=position, velocity=velocity, effort=tau
        )
        message.header.stamp = messages.time_message(START + round(s * SECOND))
        before = node.health.inputs
        states.publish(message)
        graph.until(lambda b=before: node.health.inputs != b, f'state {k}')


@pytest.mark.slow
def test_the_payload_of_the_last_states_is_published_and_not_applied(graph, start, motion):
    node, states = start(frame_prefix='left/', diagnostics_period=0.1)
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    publish(graph, node, states, *motion)
    response = graph.call(Trigger, 'dynamics_node/estimate_payload')
    assert response.success
    assert response.message.startswith('estimating from the last 8 s')
    again = graph.call(Trigger, 'dynamics_node/estimate_payload')
    assert (again.success, again.message) == (False, 'an estimate is being computed')
    graph.until(lambda: estimates, 'the estimate')
    (message,) = estimates
    assert message.header.frame_id == f'left/{LINK}'
    assert message.inertia.m == pytest.approx(MASS, rel=0.01)
    com = [message.inertia.com.x, message.inertia.com.y, message.inertia.com.z]
    assert np.allclose(com, COM, atol=0.005)
    assert node.parameters.payload__mass == 0.0
    assert node.arm.model.mass[-1] == pytest.approx(MODEL.mass[-1])
    reports.clear()
    graph.until(lambda: reports, 'a report')
    figures = {value.key: value.value for value in reports[-1].status[0].values}
    error = float(figures['payload estimate: standard error of the mass [kg]'])
    assert 0 < error < 0.02
    assert abs(float(figures['payload estimate: mass [kg]']) - MASS) < 5 * error
    assert 0 < float(figures['payload estimate: standard error of com.x [m]']) < 0.005
    assert figures['payload estimate: conditional on'] == 'nothing'


@pytest.mark.slow
def test_states_are_answered_during_the_estimate(graph, start, motion):
    node, states = start()
    gravity = graph.listen(JointState, 'dynamics_node/gravity_torque')
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    publish(graph, node, states, *motion)
    assert graph.call(Trigger, 'dynamics_node/estimate_payload').success
    before, k = len(gravity), 0
    while not estimates:
        t = np.array([10.0 + k / RATE])
        publish(graph, node, states, t, *(x[-1:] for x in motion[1:]))
        k += 1
    graph.until(lambda: len(gravity) >= before + k, 'an answer to every state')
    assert k > 2


def test_efforts_of_identified_drives_give_the_payload(graph, start, motion):
    offset = np.linspace(-1.0, 1.0, MODEL.n)
    node, states = start(friction__law='load', effort_scale=[0.5], effort_offset=offset.tolist())
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    t, q, qd, tau = (x[::2] for x in motion)
    publish(graph, node, states, t, q, qd, (tau + offset) / 0.5)
    assert graph.call(Trigger, 'dynamics_node/estimate_payload').success
    graph.until(lambda: estimates, 'the estimate')
    assert estimates[0].inertia.m == pytest.approx(MASS, rel=0.02)


def test_states_that_are_repeated_count_once(graph, start, motion):
    node, _ = start()
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    for t, *rows in zip(*motion, strict=True):
        state = JointReading(START + round(t * SECOND), *rows)
        for again in (state, state._replace(effort=1e3 + state.effort)):
            node.estimator.record(again)
    assert graph.call(Trigger, 'dynamics_node/estimate_payload').success
    graph.until(lambda: estimates, 'the estimate')
    assert estimates[0].inertia.m == pytest.approx(MASS, rel=0.01)


def between_postures():
    """Return times and positions of an arm that rests in three postures."""
    stations = 0.8 * random_postures(MODEL, 3, seed=2)
    ramp = np.linspace(0, 1, 25)[:, None]
    q = [np.repeat(stations[:1], 80, axis=0)]
    for before, after in itertools.pairwise(stations):
        q += [before + (3 * ramp**2 - 2 * ramp**3) * (after - before)]
        q += [np.repeat(after[None], 80, axis=0)]
    q = np.concatenate(q)
    return np.arange(len(q)) / 50, q


@pytest.mark.parametrize('sign', [1, -1])
def test_from_postures_the_offset_is_subtracted_after_the_scale(graph, start, sign):
    """Postures, unlike a motion, leave nothing that could take up another offset."""
    scale = np.array([0.5, 2.0, -0.5, 3.0, 0.2, -2.0, 0.5])
    offset = sign * np.array([1.0, -2.0, 1.5, -1.0, 2.0, 1.0, -1.5])
    names = list(MODEL.joint_names)
    node, states = start(
        joints=names[::-1],
        effort_scale=scale[::-1].tolist(),
        effort_offset=offset[::-1].tolist(),
        friction__coulomb=[0.0],  # else it bounds the payload, no more
    )
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    t, q = between_postures()
    tau = Dynamics(MODEL.with_payload(LINK, MASS, COM)).gravity_torque(q)
    publish(graph, node, states, t, q, np.gradient(q, t, axis=0), (tau + offset) / scale)
    assert graph.call(Trigger, 'dynamics_node/estimate_payload').success
    graph.until(lambda: estimates, 'the estimate')
    assert node.estimator._found.postures == 3
    figures = node.estimator.figures()
    assert figures['payload estimate: conditional on'] == 'description, friction'
    assert estimates[0].inertia.m == pytest.approx(MASS, rel=0.01)
    com = estimates[0].inertia.com
    assert np.allclose([com.x, com.y, com.z], COM, atol=0.005)


def test_bounds_that_include_zero_are_no_estimate(graph, start):
    node, _ = start(friction__coulomb=[50.0])
    t, q = between_postures()
    tau = Dynamics(MODEL.with_payload(LINK, MASS, COM)).gravity_torque(q)
    for stamp, *row in zip(t, q, np.gradient(q, t, axis=0), tau, strict=True):
        node.estimator.record(JointReading(START + round(stamp * SECOND), *row))
    assert graph.call(Trigger, 'dynamics_node/estimate_payload').success
    graph.until(lambda: node.estimator.status() is not None, 'the reason')
    assert 'the bounds of the mass include zero' in node.estimator.status()[1]


@pytest.mark.parametrize(
    'settings',
    [
        {'base_orientation': [0.4, -0.5, 0.3]},
        {'gravity': [1.0, -2.0, -8.0], 'base_orientation': [0.0, 1.2, 0.0]},
        {'payload.mass': 0.5, 'payload.com': [0.0, 0.1, 0.0]},
        {'effort_gravity_compensated': True},
    ],
    ids=' '.join,
)
def test_the_whole_payload_is_estimated_under_the_gravity_of_the_node(graph, start, settings):
    """Also that part of it which the node has in its torques."""
    node, _ = start(friction__coulomb=[0.0], payload__link=LINK)
    changes = [Parameter(name, value=value) for name, value in settings.items()]
    assert node.set_parameters_atomically(changes).successful
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    down = MODEL.with_gravity(node.parameters.gravity_in_base())
    t, q = between_postures()
    tau = Dynamics(down.with_payload(LINK, MASS, COM)).gravity_torque(q)
    if node.parameters.effort_gravity_compensated:
        tau -= Dynamics(down).gravity_torque(q)
    for stamp, *row in zip(t, q, np.gradient(q, t, axis=0), tau, strict=True):
        node.estimator.record(JointReading(START + round(stamp * SECOND), *row))
    assert graph.call(Trigger, 'dynamics_node/estimate_payload').success
    graph.until(lambda: estimates, 'the estimate')
    assert estimates[0].inertia.m == pytest.approx(MASS, rel=0.01)
    com = estimates[0].inertia.com
    assert np.allclose([com.x, com.y, com.z], COM, atol=0.005)


def test_too_little_is_rejected_with_the_reason(graph, start, motion):
    node, states = start()
    assert not graph.call(Trigger, 'dynamics_node/estimate_payload').success
    t, q, qd, effort = (x[:500] for x in motion)
    publish(graph, node, states, t, q, qd, effort)
    response = graph.call(Trigger, 'dynamics_node/estimate_payload')
    assert not response.success
    assert 'were received for 2 s; expected 4 s of motion' in response.message


def test_a_single_posture_is_a_warning(graph, start, motion):
    node, states = start(diagnostics_period=0.1)
    estimates = graph.listen(InertiaStamped, 'dynamics_node/payload_estimate', qos.LATCHED)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    t, q, qd, effort = (x[:1250] for x in motion)
    still = np.broadcast_to(q[0], q.shape)
    publish(graph, node, states, t, still, 0 * qd, effort)
    assert graph.call(Trigger, 'dynamics_node/estimate_payload').success

    def warned():
        return any('stands in 1 posture' in report.status[0].message for report in reports)

    graph.until(warned, 'the reason')
    assert not estimates
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        getattr(node, f'trigger_{transition}')()
    assert node.estimator.status() is None  # it was that of another robot


def test_the_number_of_states_that_are_kept_is_bounded(graph, start, motion, monkeypatch):
    monkeypatch.setattr(payload_estimator, 'MOST', 501)
    node, _ = start(payload_window=100.0)
    for t, *row in zip(*(x[::4] for x in motion), strict=True):
        for late in (0.0, 0.008):
            node.estimator.record(JointReading(START + round((t + late) * SECOND), *row))
    response = graph.call(Trigger, 'dynamics_node/estimate_payload')
    assert response.message.startswith('estimating from the last 4 s')


def test_old_states_are_forgotten(graph, start, motion):
    node, states = start(payload_window=4.0)
    publish(graph, node, states, *(x[::4] for x in motion))
    response = graph.call(Trigger, 'dynamics_node/estimate_payload')
    assert response.message.startswith('estimating from the last 4 s')
