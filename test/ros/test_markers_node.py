# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

pytest.importorskip('rclpy')

import yaml
from geometry_msgs.msg import Pose
from lifecycle_msgs.srv import ChangeState
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.common.errors import FrameNotFound
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import pose, rotation_rpy
from robot_dynamics.core.kinematics import body_poses, com_positions
from robot_dynamics.core.visualization import Arrow, Box, Ellipsoid, weight_arrows
from robot_dynamics.ros import messages
from robot_dynamics.ros.marker_messages import SHORTEST, marker_array
from robot_dynamics.ros.nodes.markers_node import COLORS, MarkersNode, MarkersParameters
from robot_dynamics.ros.parameters import specs

MS = 1_000_000
TIP = 'forearm'
WHITE = {'kind': (1.0, 1.0, 1.0, 1.0)}
KINDS = {'weight', 'joint_torque', 'center_of_mass', 'inertia', 'manipulability', 'tip_inertia'}
NOW = messages.time_message(12_000_000_345)


def xyz(p):
    return np.array([p.x, p.y, p.z])


def one(shape):
    (marker,) = marker_array({'kind': {'a': shape}}, WHITE, NOW, 'left/base').markers
    return marker


# -- messages ---------------------------------------------------------------------------------


def test_an_arrow():
    marker = one(Arrow(np.array([1.0, 2, 3]), np.array([1.0, 2, 3.5])))
    assert (marker.type, marker.action) == (Marker.ARROW, Marker.ADD)
    assert marker.header.frame_id == 'left/base'
    assert marker.header.stamp == NOW
    assert (marker.ns, marker.id) == ('kind', 0)
    assert [xyz(p).tolist() for p in marker.points] == [[1, 2, 3], [1, 2, 3.5]]
    # rviz rejects a pose without an orientation.
    assert marker.pose.orientation.w == 1.0
    assert min(xyz(marker.scale)) > 0


def test_an_arrow_without_a_direction_is_removed():
    p = np.ones(3)
    assert one(Arrow(p, p + SHORTEST / 2)).action == Marker.DELETE


def test_solids_have_their_full_size_and_their_pose():
    T = pose(rotation_rpy(0.1, 0.2, 0.3), np.array([1.0, 2, 3]))
    marker = one(Ellipsoid(T, np.array([0.1, 0.2, 0.0])))
    assert marker.type == Marker.SPHERE
    np.testing.assert_allclose(xyz(marker.scale), [0.2, 0.4, 1e-3])
    np.testing.assert_allclose(xyz(marker.pose.position), [1, 2, 3])
    x = marker.pose.orientation
    # 2 acos(w) is the angle of the turn, and so is acos((tr R - 1) / 2).
    assert 2 * np.arccos(x.w) == pytest.approx(np.arccos((np.trace(T[:3, :3]) - 1) / 2))
    marker = one(Box(T, np.array([0.1, 0.2, 0.3])))
    assert marker.type == Marker.CUBE
    np.testing.assert_allclose(xyz(marker.scale), [0.1, 0.2, 0.3])
    assert marker.pose != Pose()


# -- the node ---------------------------------------------------------------------------------


class Drawing:
    """The markers node, what it draws, and joint states for it."""

    def __init__(self, graph, **parameters):
        self.graph = graph
        self.node = graph.start(MarkersNode, **{'tip_frame': TIP, **parameters})
        self.received = graph.listen(MarkerArray, 'markers_node/markers')
        self.states = graph.publisher(JointState, 'joint_states')
        graph.until(lambda: self.node.markers_out.get_subscription_count(), 'the listener')

    def publish_state(self, stamp, q, effort=()):
        message = JointState(name=['elbow', 'shoulder'], position=[q[1], q[0]])
        message.effort = [effort[1], effort[0]] if len(effort) else []
        message.header.stamp = messages.time_message(stamp)
        self.states.publish(message)

    def at(self, stamp):
        """Return the markers of a stamp by (namespace, id), once they are there."""

        def found():
            return [
                array
                for array in self.received
                if array.markers and messages.nanoseconds(array.markers[0].header.stamp) == stamp
            ]

        self.graph.until(found, f'a drawing at {stamp}')
        return {(m.ns, m.id): m for m in found()[-1].markers}


def test_everything_is_drawn_where_it_is(graph, elbow):
    drawing, q = Drawing(graph), np.array([0.4, -0.7])
    drawing.publish_state(50 * MS, q)
    markers = drawing.at(50 * MS)
    assert {kind for kind, _ in markers} == KINDS
    assert all(m.header.frame_id == 'base' for m in markers.values())
    poses = body_poses(elbow.model, q)
    for k, com in enumerate(com_positions(elbow.model, poses)):
        np.testing.assert_allclose(xyz(markers['center_of_mass', k].pose.position), com)
        np.testing.assert_allclose(xyz(markers['inertia', k].pose.position), com)
    arrows = weight_arrows(elbow.model, poses, 0.003)
    for k, arrow in enumerate(arrows.values()):
        np.testing.assert_allclose(xyz(markers['weight', k].points[1]), arrow.end)
    # Both joints turn about y: an arrow as long as what gravity asks of them.
    length = [xyz(markers['joint_torque', k].points[1])[1] for k in range(2)]
    np.testing.assert_allclose(length, 0.01 * elbow.gravity_torque(q), rtol=1e-12)
    tip = elbow.forward_kinematics(q, TIP)[:3, 3]
    np.testing.assert_allclose(xyz(markers['manipulability', 0].pose.position), tip)
    np.testing.assert_allclose(xyz(markers['tip_inertia', 0].pose.position), tip)


def test_measured_efforts_are_drawn_on_request(graph):
    drawing = Drawing(graph, torque_source='effort', frame_prefix='left/')
    drawing.publish_state(50 * MS, [0.1, 0.2], effort=[3.0, -2.0])
    markers = drawing.at(50 * MS)
    length = [xyz(markers['joint_torque', k].points[1])[1] for k in range(2)]
    np.testing.assert_allclose(length, [0.03, -0.02])
    assert markers['weight', 0].header.frame_id == 'left/base'
    # Without efforts there is none to draw, and nothing takes its place.
    drawing.publish_state(150 * MS, [0.1, 0.2])
    assert 'joint_torque' not in {kind for kind, _ in drawing.at(150 * MS)}


def test_switches_and_scales_change_while_it_runs(graph):
    drawing = Drawing(graph)
    drawing.publish_state(50 * MS, [0.1, 0.2])
    drawing.at(50 * MS)
    results = drawing.node.set_parameters(
        [
            Parameter('show_inertia', value=False),
            Parameter('show_tip_inertia', value=False),
            Parameter('inertia_shape', value='box'),
            Parameter('force_scale', value=0.006),
        ]
    )
    assert all(result.successful for result in results)
    # What is on the screen goes first.
    graph.until(
        lambda: [m.action for m in drawing.received[-1].markers] == [Marker.DELETEALL], 'removal'
    )
    drawing.publish_state(150 * MS, [0.1, 0.2])
    markers = drawing.at(150 * MS)
    assert {kind for kind, _ in markers} == KINDS - {'inertia', 'tip_inertia'}
    start, end = map(xyz, markers['weight', 0].points)
    np.testing.assert_allclose(end - start, [0, 0, -0.006 * 1.5 * 9.81])
    rejected = drawing.node.set_parameters([Parameter('force_scale', value=float('nan'))])[0]
    assert not rejected.successful
    assert 'force_scale' in rejected.reason


def test_physically_inconsistent_inertia_is_red(graph, elbow_urdf):
    wrong = elbow_urdf.replace('ixx="0.001" iyy="0.01"', 'ixx="0.1" iyy="0.01"')
    drawing = Drawing(graph, description=wrong)
    drawing.publish_state(50 * MS, [0.1, 0.2])
    markers = drawing.at(50 * MS)
    color = markers['impossible_inertia', 0].color
    assert (color.r, color.g) == pytest.approx(COLORS['impossible_inertia'][:2])
    assert ('inertia', 0) in markers
    assert ('inertia', 1) not in markers


def test_markers_are_limited_to_the_publish_rate(graph):
    drawing = Drawing(graph, publish_rate=250.0)
    for k in range(1, 10):
        drawing.publish_state(k * MS, [0.1, 0.2])
    drawing.at(9 * MS)
    stamps = {messages.nanoseconds(m.markers[0].header.stamp) // MS for m in drawing.received}
    assert stamps - {0} == {1, 5, 9}


def test_nothing_is_computed_without_a_subscriber(graph, monkeypatch):
    node = graph.start(MarkersNode, tip_frame=TIP)
    states = graph.publisher(JointState, 'joint_states')
    drawn = []
    monkeypatch.setattr(node, '_draw', lambda *_: drawn.append(1))
    states.publish(JointState(name=['shoulder', 'elbow'], position=[0.1, 0.2]))
    graph.until(lambda: node.health.inputs, 'the joint state')
    assert not drawn


def test_a_deactivated_node_removes_its_markers(graph):
    drawing = Drawing(graph)
    drawing.publish_state(50 * MS, [0.1, 0.2])
    drawing.at(50 * MS)
    request = ChangeState.Request()
    request.transition.label = 'deactivate'
    assert graph.call(ChangeState, 'markers_node/change_state', request).success
    graph.until(
        lambda: [m.action for m in drawing.received[-1].markers] == [Marker.DELETEALL], 'removal'
    )
    drawing.publish_state(150 * MS, [0.1, 0.2])
    graph.drain()
    assert drawing.received[-1].markers[0].action == Marker.DELETEALL


def test_an_unknown_tip_is_rejected(graph):
    with pytest.raises(FrameNotFound, match='hand'):
        graph.start(MarkersNode, tip_frame='hand')


def test_without_a_tip_there_are_no_ellipsoids_at_it(graph):
    drawing = Drawing(graph, tip_frame='')
    drawing.publish_state(50 * MS, [0.1, 0.2])
    assert {kind for kind, _ in drawing.at(50 * MS)} == KINDS - {'manipulability', 'tip_inertia'}


def test_the_yaml_file_has_every_parameter_with_its_default():
    text = share_file('config/markers_node.yaml').read_text()
    configured = yaml.safe_load(text)['/**']['ros__parameters']
    for key, spec in specs(MarkersParameters).items():
        group, _, last = key.rpartition('.')
        section = configured[group] if group else configured
        assert section.pop(last) == spec.default, key
    assert not any(configured.values())
