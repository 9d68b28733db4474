# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

pytest.importorskip('rclpy')

from mjcf_text import link, world
from std_msgs.msg import String

from robot_dynamics.common.errors import FrameNotFound, ModelError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.parameters import snapshot
from robot_dynamics.ros.robot_parameters import RobotParameters, VaryingRobotParameters
from robot_dynamics.ros.robot_source import DescriptionTimeout


def filled(table=RobotParameters, **values):
    return snapshot(table, {name.replace('__', '.'): value for name, value in values.items()})


def described(urdf, **values):
    return filled(**values).robot(urdf)


def loaded(urdf, **values):
    parameters = filled(VaryingRobotParameters, **values)
    return parameters.varied(Dynamics(parameters.robot(urdf)))


def test_the_payload_of_the_parameters(elbow, elbow_urdf):
    arm = loaded(
        elbow_urdf, payload__link='forearm', payload__mass=2.0, payload__com=[0.3, 0.0, 0.0]
    )
    # Straight out along x, the payload's arm is 0.5 + 0.3 m.
    more = arm.gravity_torque(np.zeros(2)) - elbow.gravity_torque(np.zeros(2))
    np.testing.assert_allclose(more, -2.0 * 9.81 * np.array([0.8, 0.3]), rtol=1e-12)


def test_friction_is_that_of_the_urdf_where_the_parameters_are_negative(elbow):
    friction = filled(friction__viscous=[-1.0, 7.0], friction__coulomb=[0.5]).coulomb_friction(
        elbow.model
    )
    np.testing.assert_array_equal(friction['viscous'], [0.1, 7.0])
    np.testing.assert_array_equal(friction['coulomb'], [0.5, 0.5])


def test_an_explicit_zero_overrides_the_friction_of_the_urdf(elbow):
    parameters = filled(friction__viscous=[0.0, -1.0], friction__coulomb=[-0.5, 0.0])
    np.testing.assert_array_equal(parameters.coulomb_friction(elbow.model)['viscous'], [0.0, 0.2])
    np.testing.assert_array_equal(parameters.coulomb_friction(elbow.model)['coulomb'], [0.05, 0.0])


def test_lists_follow_the_order_of_joints(elbow):
    parameters = filled(joints=['elbow', 'shoulder'], friction__viscous=[7.0, 8.0])
    np.testing.assert_array_equal(parameters.coulomb_friction(elbow.model)['viscous'], [8, 7])


def test_a_base_on_the_wall_feels_gravity_along_its_x_axis(elbow_urdf):
    # Pitched by 90 degrees, the base's x axis points down.
    model = described(elbow_urdf, base_orientation=[0.0, np.pi / 2, 0.0])
    np.testing.assert_allclose(model.gravity, [9.81, 0, 0], atol=1e-12)
    # The arm hangs straight: only the offsets of the centres of mass are felt.
    straight = Dynamics(model).gravity_torque(np.zeros(2))
    assert np.abs(straight).max() < 0.02 * 9.81


def test_locked_joints(elbow_urdf):
    model = described(elbow_urdf, locked_joints=['elbow'], locked_positions=[0.5])
    assert model.joint_names == ('shoulder',)


@pytest.mark.parametrize(
    ('values', 'error', 'why'),
    [
        ({'payload__mass': 1.0}, ModelError, 'payload.link must name'),
        ({'payload__link': 'hand', 'payload__mass': 1.0}, FrameNotFound, 'forearm'),
        ({'locked_joints': ['hip']}, ModelError, 'hip'),
        ({'tip_link': 'hand'}, ModelError, 'hand'),
    ],
)
def test_parameters_that_do_not_fit_the_robot_are_rejected(elbow_urdf, values, error, why):
    with pytest.raises(error, match=why):
        loaded(elbow_urdf, **values)


def test_a_file(graph, elbow_urdf, tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(elbow_urdf)
    node = graph.start(DynamicsNode, description=None, robot_description_file=str(path))
    assert node.arm.model.joint_names == ('shoulder', 'elbow')


def test_an_mjcf_file_has_its_rotors_and_its_root(graph, tmp_path):
    pytest.importorskip('mujoco')
    path, one = tmp_path / 'arms.xml', link('{0}', '', link('{0}_arm', '<joint armature="0.2"/>'))
    path.write_text(world(''.join(one.format(side) for side in ('left', 'right'))))
    file = {'description': None, 'robot_description_file': str(path)}
    node = graph.start(DynamicsNode, **file, xacro_arguments=['root:=right'])
    assert node.arm.model.body_names == ('right_arm',)
    assert node.arm.model.reflected_inertia.tolist() == [0.2]


def test_mjcf_in_a_parameter_is_rejected(graph):
    with pytest.raises(ModelError, match=r'this is an MJCF file, .* load it by its path'):
        graph.start(DynamicsNode, description=world(link('a')))


def test_a_bad_file_is_named_with_the_reason(graph, tmp_path):
    bad = tmp_path / 'bad.urdf'
    for text in ('<robot name="bad"/>', 'no XML'):
        bad.write_text(text)
        with pytest.raises(ModelError, match=rf'^{bad}: '):
            graph.start(DynamicsNode, description=None, robot_description_file=str(bad))


def as_xacro(urdf):
    """Return a URDF as a xacro text whose argument `mass` is that of the first body."""
    head, _, rest = urdf.partition('<mass value="')
    head = head.replace('<robot ', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1)
    return f'{head}<mass value="$(arg mass){rest[rest.index(chr(34)) :]}'


def test_a_xacro_file_with_arguments(graph, elbow_urdf, tmp_path):
    file = tmp_path / 'arm.xacro'
    file.write_text(as_xacro(elbow_urdf))
    given = {'description': None, 'robot_description_file': str(file)}
    node = graph.start(DynamicsNode, xacro_arguments=['mass:=1.25'], **given)
    assert node.arm.model.mass[0] == 1.25
    with pytest.raises(ModelError, match=rf"^{file}: the xacro argument 'mass' is missing.*:=VAL"):
        graph.start(DynamicsNode, **given)
    with pytest.raises(ModelError, match='expected name:=value'):
        graph.start(DynamicsNode, xacro_arguments=['mass=1'], **given)


def test_xacro_on_the_topic_is_not_expanded(graph, elbow_urdf):
    publisher = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    node = graph.start(DynamicsNode, description=None)
    publisher.publish(String(data=as_xacro(elbow_urdf)))
    graph.until(lambda: node.failure is not None, 'the rejection')
    assert '$(arg mass)' in str(node.failure)
    with pytest.raises(
        ModelError, match='xacro_arguments is mass:=1; expected robot_description_'
    ):
        graph.start(DynamicsNode, description=elbow_urdf, xacro_arguments=['mass:=1'])


def test_the_topic_in_the_nodes_namespace_even_when_it_is_late(graph, elbow_urdf):
    node = graph.start(DynamicsNode, remap=['__ns:=/left'], description=None)
    graph.drain(0.1)
    assert node.arm is None
    publisher = graph.probe.create_publisher(String, '/left/robot_description', qos.LATCHED)
    publisher.publish(String(data=elbow_urdf))
    graph.until(lambda: node.arm is not None, 'the robot')
    assert node.failure is None


def test_a_latched_description_reaches_a_late_node(graph, elbow_urdf):
    publisher = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    publisher.publish(String(data=elbow_urdf))
    node = graph.start(DynamicsNode, description=None)
    graph.until(lambda: node.arm is not None, 'the robot')


def test_a_later_description_replaces_the_robot_and_a_bad_one_does_not(graph, elbow_urdf):
    publisher = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    publisher.publish(String(data=elbow_urdf))
    node = graph.start(DynamicsNode, description=None)
    graph.until(lambda: node.arm is not None, 'the robot')
    first = node.arm
    publisher.publish(String(data='<robot name="bad"/>'))
    graph.until(lambda: node.health.counts['robot_description rejected'], 'the refusal')
    assert node.arm is first
    assert node.failure is None
    publisher.publish(String(data=elbow_urdf.replace('value="0.7"', 'value="1.4"')))
    graph.until(lambda: node.arm is not first, 'the heavier robot')
    assert node.arm.model.mass[1] == 1.4


def test_the_same_description_again_changes_nothing(graph, elbow_urdf):
    publisher = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    publisher.publish(String(data=elbow_urdf))
    node = graph.start(DynamicsNode, description=None)
    graph.until(lambda: node.arm is not None, 'the robot')
    first = node.arm
    # Nor does the good one after a bad one.
    for text in (elbow_urdf, '<robot name="bad"/>', '<robot name="bad"/>', elbow_urdf):
        publisher.publish(String(data=text))
        graph.drain(0.1)
    assert node.arm is first
    assert node.health.counts['robot_description rejected'] == 1


def test_a_parameter_is_preferred_to_the_topic(graph, elbow_urdf):
    publisher = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    publisher.publish(String(data='<robot name="bad"/>'))
    node = graph.start(DynamicsNode)
    first = node.arm
    publisher.publish(String(data=elbow_urdf.replace('value="0.7"', 'value="1.4"')))
    graph.drain()
    assert node.arm is first
    assert not node.health.counts


def test_a_bad_first_description_ends_the_node(graph):
    publisher = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    publisher.publish(String(data='<robot name="bad"/>'))
    node = graph.start(DynamicsNode, description=None)
    graph.until(lambda: node.failure is not None, 'the refusal')
    assert isinstance(node.failure, ModelError)


def test_a_missing_description_ends_the_node_with_the_topic_name(graph):
    node = graph.start(
        DynamicsNode, remap=['__ns:=/left'], description=None, description_timeout=0.1
    )
    graph.until(lambda: node.failure is not None, 'the timeout')
    assert isinstance(node.failure, DescriptionTimeout)
    assert '/left/robot_description (namespace /left) within 0.1 s' in str(node.failure)


def test_a_timeout_of_zero_waits_for_ever(graph):
    node = graph.start(DynamicsNode, description=None, description_timeout=0.0)
    graph.drain(0.3)
    assert node.failure is None
