# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState
from simulator_view import MS, START, SimulatorView, stamp

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.ros.parameters import snapshot
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.simulation import (
    Actuators,
    FrictionSettings,
    InelasticStop,
    JointModels,
    Sensors,
    Simulator,
    SpringDamperStop,
)
from robot_dynamics.simulation.joint_models.actuators import Drives
from robot_dynamics.simulation.sensors import Sensing


def joint_models(elbow, **values):
    given = {name.replace('__', '.'): value for name, value in values.items()}
    return snapshot(SimulatorParameters, given).joint_models(elbow.model)


def test_the_default_joint_models_are_stops_alone(elbow):
    ideal = joint_models(elbow)
    assert (ideal.friction, ideal.stops, ideal.elasticity) == ('smooth', InelasticStop(), None)
    assert Drives(elbow.model, ideal.actuators, 1e-3).ideal
    assert joint_models(elbow, stops__kind='none').stops is None
    assert joint_models(elbow, friction__law='stick_slip').friction == 'stick_slip'


def test_values_per_joint_come_in_the_order_of_joints(elbow):
    result = joint_models(
        elbow,
        joints=['elbow', 'shoulder'],
        stops__kind='spring',
        stops__stiffness=[1.0, 2.0],
        drives__rate_limit=[0.0, 5.0],
        elasticity__stiffness=[30.0, 40.0],
    )
    assert isinstance(result.stops, SpringDamperStop)
    np.testing.assert_array_equal(result.stops.stiffness, [2, 1])
    np.testing.assert_array_equal(result.actuators.rate_limit, [5, np.inf])
    np.testing.assert_array_equal(result.elasticity.stiffness, [40, 30])
    with pytest.raises(RobotDynamicsError, match=r'stops\.damping has 3 values'):
        joint_models(elbow, stops__kind='spring', stops__damping=[1.0, 2.0, 3.0])


def test_speed_limits_are_those_of_the_model(elbow):
    assert joint_models(elbow, drives__speed_limits=True).actuators.velocity_limit is None
    assert joint_models(elbow, drives__delay=0.01).actuators.velocity_limit == np.inf


def test_the_node_simulates_them(graph, elbow):
    view = SimulatorView(graph, start_paused=True, drives__delay=0.003, friction__law='stick_slip')
    view.command([5.0, 1.0])
    graph.until(lambda: view.node.loop.commanded, 'the command')
    assert view.set(steps_per_call=20) == ''
    assert view.call('step').success
    same = Simulator(
        elbow,
        q=START,
        joint_models=JointModels('stick_slip', Actuators(0.003), InelasticStop()),
    )
    for _ in range(20):
        same.step([5.0, 1.0])
    np.testing.assert_array_equal(view.node.loop.plant.q, same.q)


def test_the_node_simulates_friction_laws_and_drives_of_every_kind(graph, elbow):
    view = SimulatorView(
        graph,
        start_paused=True,
        friction__law='load_memory',
        friction__load=[0.05],
        friction__presliding=[1e-3],
        drives__bandwidth=[40.0, 0.0],
        drives__gain=[1.05],
        drives__ripple=[0.2, 0.1],
        drives__ripple_periods=[7.0],
    )
    view.command([5.0, 1.0])
    graph.until(lambda: view.node.loop.commanded, 'the command')
    assert view.set(steps_per_call=20) == ''
    assert view.call('step').success
    same = Simulator(
        elbow,
        q=START,
        joint_models=JointModels(
            FrictionSettings('load_memory', load=0.05, presliding=1e-3),
            Actuators(bandwidth=[40.0, np.inf], gain=1.05, ripple=[0.2, 0.1], ripple_periods=7.0),
            InelasticStop(),
        ),
    )
    for _ in range(20):
        same.step([5.0, 1.0])
    np.testing.assert_array_equal(view.node.loop.plant.q, same.q)


def test_states_are_published_as_the_sensors_measure_them_from_each_reset_on(graph, elbow):
    sensors = {
        'position_resolution': [1e-3, 0.0],
        'velocity': 'differentiated',
        'velocity_cutoff': [50.0],
        'effort_noise': [0.3],
        'effort_bandwidth': [20.0],
        'effort_offset': [-0.1, 0.2],
        'latency': 1.5e-3,
        'jitter': 5e-4,
    }
    view = SimulatorView(
        graph,
        lockstep=True,
        real_time_factor=0.0,
        sensors__seed=5,
        **{f'sensors__{name}': value for name, value in sensors.items()},
    )
    numbers = {k: v[0] if v in ([0.3], [20.0], [50.0]) else v for k, v in sensors.items()}
    same, sensing = Simulator(elbow, q=START), Sensing(elbow.model, Sensors(**numbers), 1e-3, [5])
    for _ in range(2):
        rng, plant = np.random.default_rng(1), view.node.loop.plant
        view.states.clear()
        view.drive(rng, 30)
        assert not np.array_equal(view.states[-1].position, plant.q)
        rng = np.random.default_rng(1)
        same.reset(START)
        sensing.reset()
        for k in range(30):
            measured = sensing.read(same.q[None], same.qd[None], same.effort[None])
            message = next(m for m in view.states if stamp(m) == k * MS)
            np.testing.assert_array_equal(message.position, measured.q[0])
            np.testing.assert_array_equal(message.velocity, measured.qd[0])
            np.testing.assert_array_equal(message.effort, measured.effort[0])
            same.step(rng.uniform(-5, 5, 2))
        assert view.call('reset').success


def test_true_states_have_no_errors_of_sensors_and_the_same_stamps(graph, elbow):
    view = SimulatorView(
        graph,
        lockstep=True,
        real_time_factor=0.0,
        publish_true_state=True,
        effort_scale=[2.0],
        sensors__position_noise=[1e-3],
        sensors__velocity_noise=[1e-2],
        sensors__effort_offset=[0.5],
        sensors__latency=2e-3,
    )
    true = graph.listen(JointState, 'simulator_node/true_state', 100)
    view.drive(np.random.default_rng(1), 20)
    graph.until(lambda: len({stamp(message) for message in true}) > 20, 'the last true state')
    measured = {stamp(message): message for message in view.states}
    same, rng = Simulator(elbow, q=START), np.random.default_rng(1)
    for k in range(20):
        message = next(m for m in true if stamp(m) == k * MS)
        assert message.name == measured[k * MS].name
        np.testing.assert_array_equal(message.position, same.q)
        np.testing.assert_array_equal(message.velocity, same.qd)
        np.testing.assert_array_equal(message.effort, same.effort)  # N m, not the drives' unit
        assert not np.array_equal(message.position, measured[k * MS].position)
        same.step(rng.uniform(-5, 5, 2))


def test_true_states_are_published_on_request_only(graph):
    view = SimulatorView(graph)
    view.state()
    assert not graph.probe.count_publishers('simulator_node/true_state')


def test_a_coefficient_that_a_law_lacks_rejects_the_node(graph):
    with pytest.raises(RobotDynamicsError, match="has no coefficient 'load'"):
        graph.start(SimulatorNode, friction__law='stribeck', friction__load=[0.1])


@pytest.mark.slow
def test_an_arm_that_falls_stops_at_its_limits(graph):
    view = SimulatorView(graph, real_time_factor=0.0, hold_until_command=False)
    graph.until(lambda: view.node.loop.time > 5, 'the end of the fall')
    q = np.array([message.position for message in view.states])
    # To rounding: the joint is put exactly there, by addition.
    assert np.abs(q[:, 0]).max() <= 3 + 1e-12
    assert np.abs(q[:, 1]).max() <= 2.5 + 1e-12


def test_elastic_joints_without_rotor_inertia_are_rejected(graph):
    with pytest.raises(RobotDynamicsError, match='rotor'):
        graph.start(SimulatorNode, elasticity__stiffness=[100.0])


def test_elastic_joints_with_a_friction_law_are_rejected_with_the_laws_that_are_possible(graph):
    reason = r"friction\.law is 'load', which needs rigid joints: .* 'coulomb' or 'stick_slip'"
    with pytest.raises(RobotDynamicsError, match=reason):
        graph.start(
            SimulatorNode,
            elasticity__stiffness=[100.0],
            rotor_inertia=[0.1],
            friction__law='load',
        )


@pytest.mark.slow
def test_an_arm_rests_on_the_plane_of_an_environment_file(graph, elbow, tmp_path):
    file = tmp_path / 'world.yaml'
    file.write_text(
        'planes: {floor: {point: [0, 0, -0.4], normal: [0, 0, 1], damping: 200}}\n'
        'touch_points: {hand: {link: forearm, point: [0.4, 0, 0]}}\n'
    )
    view = SimulatorView(
        graph, real_time_factor=0.0, hold_until_command=False, environment=str(file)
    )
    graph.until(lambda: view.node.loop.time > 3, 'the end of the fall')
    poses = [elbow.forward_kinematics(message.position, 'forearm') for message in view.states]
    heights = [(T @ [0.4, 0.0, 0.0, 1.0])[2] for T in poses]
    assert -0.41 < min(heights) < -0.4


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (None, r'world\.yaml: No such file'),
        ('planes: [1]', r'world\.yaml: planes is \[1\]; expected entries by name'),
        (
            '{planes: {a: {point: [0, 0, 0], normal: [0, 0, 1]}}, touch_points: {b: {link: paw}}}',
            "no frame 'paw'",
        ),
    ],
    ids=['missing', 'invalid', 'unknown link'],
)
def test_an_environment_that_does_not_fit_rejects_the_node(graph, tmp_path, content, message):
    file = tmp_path / 'world.yaml'
    if content is not None:
        file.write_text(content)
    with pytest.raises(RobotDynamicsError, match=message):
        graph.start(SimulatorNode, environment=str(file))
