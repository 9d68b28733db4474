# SPDX-License-Identifier: Apache-2.0
"""The law cartesian_impedance of the feed-forward node: poses, wrenches, modes and rejections."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from called_nodes import CalledNode
from elbow import ELBOW
from geometry_msgs.msg import Point, PoseStamped, Quaternion, Vector3, WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.control.impedance import CartesianImpedance, Impedance, PoseReference
from robot_dynamics.control.motions import Phase
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.ros import messages, motion_status
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.parameters import ParameterError

MS = 1_000_000
BEGIN = 700 * MS
START = np.array([0.3, -0.4])
FRAME = 'forearm'
SPRING = {'control_law': 'cartesian_impedance', 'impedance.frame': FRAME}
QUICK = {'max_torque_rate': [0.0], 'ramp_time': 0.0, 'effort_offset': [0.5, -0.25]}


class Arm:
    """A simulated arm without friction at the node, called every millisecond."""

    def __init__(self, graph, **parameters):
        self.called = CalledNode(graph, FeedforwardNode, **SPRING | QUICK | parameters)
        self.node = self.called.node
        self.arm = self.node.arm.without_friction()
        self.q, self.qd, self.k = START, np.zeros(2), 0
        self.offset = np.array(self.node.parameters.effort_offset)

    def answer(self):
        """Return the torque for the present state."""
        message = JointState(name=['shoulder', 'elbow'], position=self.q, velocity=self.qd)
        message.header.stamp = messages.time_message(BEGIN + self.k * MS)
        self.k += 1
        tau = self.called.answer(message).get('tau')
        return None if tau is None else np.array(tau)

    def move(self, steps, goal=None, every=10):
        """Return the torques (steps, n) of a motion; a pose is sent every few steps."""
        found = []
        for k in range(steps):
            if goal is not None and k % every == 0:
                self.called.give('/target_pose', goal)
            found.append(self.answer())
            self.q, self.qd = self.arm.simulate(
                self.q, self.qd, found[-1] - self.offset, steps=1, friction='none'
            )
        return np.array(found)

    @property
    def pose(self):
        return self.arm.forward_kinematics(self.q, FRAME)

    @property
    def rejected(self):
        return self.node.health.counts['target pose rejected']


def pose_at(q, arm, frame_id=''):
    """Return a message of the pose that the frame has at positions (2,), about y."""
    T = arm.forward_kinematics(q, FRAME)
    angle = np.arctan2(T[0, 2], T[0, 0])
    message = PoseStamped()
    message.header.frame_id = frame_id
    message.pose.position = Point(**dict(zip('xyz', T[:3, 3].tolist(), strict=True)))
    message.pose.orientation = Quaternion(y=np.sin(angle / 2), w=np.cos(angle / 2))
    return message


def test_holds_the_frame_where_it_is(graph):
    arm = Arm(graph)
    np.testing.assert_allclose(
        arm.answer(), arm.arm.gravity_torque(START) + arm.offset, rtol=1e-12
    )
    before = arm.pose
    arm.q = START + np.array([0.02, -0.03])
    own = CartesianImpedance(arm.arm, FRAME)
    expected = own.torque(
        arm.q, arm.qd, PoseReference(before, np.zeros(6)), Impedance(), posture=START
    )
    np.testing.assert_allclose(arm.answer(), expected.tau + arm.offset, rtol=1e-10)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_follows_a_stream_of_poses_and_holds_when_it_stops(graph, sign):
    arm = Arm(graph)
    arm.move(10)
    goal = START + sign * np.array([0.3, 0.4])
    torques = arm.move(2500, pose_at(goal, arm.arm))
    np.testing.assert_allclose(arm.q, goal, atol=1e-3)
    assert arm.node.frame.follower.phase is Phase.FOLLOWING
    assert arm.node.references.follower.doing == 'following a stream of poses'
    # Without a step
    assert np.abs(np.diff(torques[1:], axis=0)).max() < 0.02 * np.abs(torques).max()
    arm.move(300)
    assert arm.node.frame.follower.phase is Phase.HOLDING
    np.testing.assert_allclose(arm.q, goal, atol=1e-3)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_friction_is_fed_forward_unless_it_is_not_to_be_compensated(graph, sign):
    lost = {
        'friction.law': 'coulomb_memory',
        'friction.viscous': [0.0],
        'friction.coulomb': [0.3, 0.2],
    }
    arms = [Arm(graph, **lost, compensate_friction=choice) for choice in (True, False)]
    goal = pose_at(START + sign * np.array([0.2, 0.3]), arms[0].arm)
    differences = [np.subtract(*(arm.answer() for arm in arms))]
    for _ in range(100):  # an arm that stays where it is
        for arm in arms:
            arm.called.give('/target_pose', goal)
        compensated, plain = (arm.answer() for arm in arms)
        differences.append(compensated - plain)
    np.testing.assert_array_equal(differences[0], 0.0)
    np.testing.assert_allclose(differences[-1], sign * np.array([0.3, 0.2]), rtol=1e-3)


def test_a_pose_in_the_frame_of_a_link(graph):
    arm = Arm(graph)
    arm.move(5)
    message = PoseStamped()
    message.header.frame_id = 'upper_arm'
    inside = np.linalg.inv(arm.arm.forward_kinematics(START, 'upper_arm')) @ arm.pose
    message.pose.position = Point(**dict(zip('xyz', inside[:3, 3].tolist(), strict=True)))
    angle = np.arctan2(inside[0, 2], inside[0, 0])
    message.pose.orientation = Quaternion(y=np.sin(angle / 2), w=np.cos(angle / 2))
    before = arm.pose
    arm.move(50, message)
    assert arm.rejected == 0
    np.testing.assert_allclose(arm.node.frame.follower.present.pose, before, atol=1e-9)


def test_a_wrench_is_exerted_on_the_environment_until_it_is_old(graph):
    arm = Arm(graph)
    arm.answer()
    message = WrenchStamped()
    message.header.frame_id = FRAME
    message.header.stamp = messages.time_message(BEGIN)
    message.wrench.force = Vector3(x=2.0, z=-5.0)
    arm.called.give('/target_wrench', message)
    R = arm.pose[:3, :3]
    F = np.concatenate([np.zeros(3), R @ [2.0, 0.0, -5.0]])
    still = arm.arm.gravity_torque(START) + arm.offset
    expected = still + arm.arm.wrench_torque(START, F, FRAME)
    np.testing.assert_allclose(arm.answer(), expected, rtol=1e-10)
    arm.k += 200
    np.testing.assert_allclose(arm.answer(), still, rtol=1e-10)


def pressing(frame_id=FRAME, **force):
    message = WrenchStamped()
    message.header.frame_id = frame_id
    message.wrench.force = Vector3(**force)
    return message


def test_a_wrench_without_a_stamp_has_the_time_of_the_last_state(graph):
    arm = Arm(graph)
    still = arm.answer()
    arm.called.give('/target_wrench', pressing(x=2.0))
    F = np.concatenate([np.zeros(3), arm.pose[:3, :3] @ [2.0, 0.0, 0.0]])
    expected = still + arm.arm.wrench_torque(START, F, FRAME)
    np.testing.assert_allclose(arm.answer(), expected, rtol=1e-10)
    arm.k += 200
    np.testing.assert_allclose(arm.answer(), still, rtol=1e-10)


def test_a_bad_wrench_changes_nothing(graph):
    arm = Arm(graph)
    arm.called.give('/target_wrench', pressing(x=2.0))  # before the first state
    still = arm.answer()
    arm.called.give('/target_wrench', pressing(x=float('nan')))
    arm.called.give('/target_wrench', pressing('spoon', x=2.0))
    np.testing.assert_allclose(arm.answer(), still, rtol=1e-12)
    assert arm.node.health.counts['target wrench rejected'] == 3
    other = Arm(graph, control_law='pd_plus')
    other.answer()
    other.called.give('/target_wrench', pressing(x=2.0))
    assert other.node.health.counts['target wrench rejected'] == 1


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda m: setattr(m.pose.orientation, 'w', 0.5), 'norm'),
        (lambda m: setattr(m.pose.orientation, 'w', float('nan')), 'norm'),
        (lambda m: setattr(m.pose.position, 'x', float('nan')), 'expected a pose'),
        (lambda m: setattr(m.header, 'frame_id', 'spoon'), 'no frame'),
    ],
    ids=['norm', 'NaN quaternion', 'NaN position', 'frame'],
)
def test_a_bad_pose_changes_nothing(graph, change, reason, capfd):
    arm = Arm(graph)
    first = arm.move(5)[-1]
    message = pose_at(START + 0.2, arm.arm)
    change(message)
    arm.called.give('/target_pose', message)
    assert arm.rejected == 1
    np.testing.assert_allclose(arm.move(20)[-1], first, rtol=1e-6)
    assert reason in capfd.readouterr().err


def test_two_streams_of_wrenches_are_both_rejected(graph):
    import rclpy

    arm = Arm(graph)
    still = arm.answer()
    others = [rclpy.create_node(name, context=graph.context) for name in ('one', 'two')]
    for other in others:
        other.create_publisher(WrenchStamped, 'target_wrench', 10)
    guard = arm.node.frame.wrench_guard
    graph.until(lambda: guard.conflict, 'the conflict')
    arm.called.give('/target_wrench', pressing(x=2.0))
    assert arm.node.health.counts['target wrench rejected'] == 1
    assert not arm.node.frame.pose_guard.conflict
    np.testing.assert_allclose(arm.answer(), still, rtol=1e-12)
    others[0].destroy_node()
    graph.until(lambda: not guard.conflict, 'its end')
    arm.called.give('/target_wrench', pressing(x=2.0))
    assert arm.node.health.counts['target wrench rejected'] == 1
    assert np.abs(arm.answer() - still).max() > 0.1
    others[1].destroy_node()


def test_two_streams_of_poses_are_both_rejected(graph):
    import rclpy

    arm = Arm(graph)
    arm.answer()
    others = [rclpy.create_node(name, context=graph.context) for name in ('one', 'two')]
    for other in others:
        other.create_publisher(PoseStamped, 'target_pose', 10)
    guard = arm.node.frame.pose_guard
    graph.until(lambda: guard.conflict, 'the conflict')
    arm.called.give('/target_pose', pose_at(START, arm.arm))
    assert arm.rejected == 1
    others[0].destroy_node()
    graph.until(lambda: not guard.conflict, 'its end')
    arm.called.give('/target_pose', pose_at(START, arm.arm))
    assert arm.rejected == 1
    others[1].destroy_node()


def test_poses_are_rejected_with_another_law_and_ignored_while_disabled(graph):
    arm = Arm(graph, control_law='pd_plus')
    arm.answer()
    arm.called.give('/target_pose', pose_at(START, arm.arm))
    assert arm.rejected == 1
    other = Arm(graph, start_enabled=False)
    other.answer()
    other.called.give('/target_pose', pose_at(START, other.arm))
    assert other.rejected == 0


def test_the_law_needs_a_frame(graph):
    called = CalledNode(graph, FeedforwardNode, **QUICK)
    (result,) = called.node.set_parameters([Parameter('control_law', value='cartesian_impedance')])
    assert not result.successful
    assert 'impedance.frame is empty' in result.reason


def test_the_law_needs_inertia(graph):
    arm = Arm(graph)
    bodiless = Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)))
    parameters = replace(arm.node.parameters, impedance__frame='link2')
    with pytest.raises(ParameterError, match="joint 'joint2' moves no inertia"):
        arm.node.frame.check(parameters, bodiless)


@pytest.mark.parametrize(
    ('model', 'reason'),
    [
        (planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)), "joint 'joint2' moves no inertia"),
        (random_tree(15, np.random.default_rng(0)), '15 joints; joint_impedance has at most 14'),
    ],
    ids=['inertia', 'joints'],
)
def test_joint_impedance_needs_inertia_and_few_joints(graph, model, reason):
    node = CalledNode(graph, FeedforwardNode).node
    node.law.check(node.parameters, Dynamics(model))
    with pytest.raises(ParameterError, match=reason):
        node.law.check(replace(node.parameters, control_law='joint_impedance'), Dynamics(model))


def test_a_change_of_law_holds_the_arm_where_it_is(graph):
    arm = Arm(graph, control_law='pd_plus', kp=[100.0], kd=[5.0])
    arm.move(10)
    for law in ('cartesian_impedance', 'pd_plus', 'cartesian_impedance'):
        (result,) = arm.node.set_parameters([Parameter('control_law', value=law)])
        assert result.successful
        arm.move(200)
        np.testing.assert_allclose(arm.q, START, atol=1e-6)


def test_stops_on_demand_and_when_disabled(graph):
    arm = Arm(graph, on_deactivate='gravity')
    arm.move(10)
    goal = pose_at(START + np.array([0.5, 0.2]), arm.arm)
    arm.move(300, goal)
    arm.node._on_stop(Trigger.Request(), Trigger.Response())
    assert arm.node.frame.follower.phase is Phase.STOPPING
    arm.move(600)
    assert arm.node.frame.follower.phase is Phase.HOLDING
    arm.move(300, goal)
    arm.node._on_enable(SetBool.Request(data=False), SetBool.Response())
    for _ in range(1000):
        tau = arm.answer()
        if tau is None:
            break
        arm.q, arm.qd = arm.arm.simulate(arm.q, arm.qd, tau - arm.offset, steps=1, friction='none')
    assert arm.node.mode.value == motion_status.IDLE


def test_time_that_goes_back_places_the_target_at_the_frame(graph):
    arm = Arm(graph)
    arm.move(10)
    arm.move(300, pose_at(START + np.array([0.5, 0.2]), arm.arm))
    arm.k -= 400
    arm.answer()
    assert arm.node.frame.follower.phase is Phase.HOLDING
    np.testing.assert_allclose(arm.node.frame.follower.present.pose, arm.pose, atol=1e-12)


def test_the_status_names_singular_directions(graph):
    arm = Arm(graph)
    arm.answer()
    detail = arm.node._activity().detail
    # A planar arm cannot move its frame along y, or turn it about x and z.
    for name in ('translation along y', 'rotation about x', 'rotation about z'):
        assert name in detail


def test_a_payload_is_carried_at_once(graph):
    arm = Arm(graph, **{'payload.link': FRAME, 'payload.mass': 0.0})
    arm.answer()
    (result,) = arm.node.set_parameters([Parameter('payload.mass', value=2.0)])
    assert result.successful
    loaded = arm.arm.with_payload(FRAME, 2.0)
    expected = loaded.gravity_torque(START) + arm.offset
    np.testing.assert_allclose(arm.answer(), expected, rtol=1e-10)


# -- wrenches that are too large, old, or of another time -----------------------------------------


def still_and_pressed(arm, message):
    """Return the torque without a wrench, and what the wrench of a message adds."""
    still = arm.answer()
    arm.called.give('/target_wrench', message)
    return still, arm.answer() - still


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('size', [2.0, 300.0, 1e6, 1e308])
def test_a_wrench_leaves_the_arm_half_of_its_efforts(graph, sign, size):
    arm = Arm(graph)
    _, added = still_and_pressed(arm, pressing(x=sign * size, z=-0.3 * size))
    most = 0.5 * arm.arm.model.effort_limit
    F = np.concatenate([np.zeros(3), arm.pose[:3, :3] @ [sign, 0.0, -0.3]])
    unit = arm.arm.wrench_torque(START, F, FRAME)
    factor = min(size, (most[unit != 0] / np.abs(unit[unit != 0])).min())
    np.testing.assert_allclose(added, factor * unit, rtol=1e-9)
    is_scaled = factor < size
    assert arm.node.health.counts['target wrench scaled'] == is_scaled
    assert (arm.node.frame.status() is not None) == is_scaled
    assert ('the target wrench is scaled' in arm.node.frame.remark) == is_scaled
    assert float(arm.node.frame.figures()['scale of the target wrench']) == pytest.approx(
        factor / size, rel=1e-2
    )
    arm.k += 200  # it is old
    arm.answer()
    assert arm.node.frame.status() is None


@pytest.mark.parametrize('name', ['max_target_force', 'max_target_torque'])
@pytest.mark.parametrize('most', [None, 7.0])
def test_without_effort_limits_a_wrench_has_fixed_bounds(graph, name, most):
    """Each parameter alone; the other one keeps its default."""
    description = ELBOW.replace('effort="', 'effort="0" was="')
    given = {} if most is None else {name: most}
    arm = Arm(graph, description=description, **given)
    assert np.isinf(arm.arm.model.effort_limit).all()
    message = pressing()
    if name == 'max_target_force':
        message.wrench.force = Vector3(x=1e4)
    else:
        message.wrench.torque = Vector3(y=-1e4)
    _, added = still_and_pressed(arm, message)
    F = np.zeros(6)
    R = arm.pose[:3, :3]
    default = {'max_target_force': 100.0, 'max_target_torque': 20.0}[name]
    F[3:] = R @ [most or default, 0.0, 0.0] if name == 'max_target_force' else np.zeros(3)
    F[:3] = R @ [0.0, -(most or default), 0.0] if name == 'max_target_torque' else np.zeros(3)
    np.testing.assert_allclose(added, arm.arm.wrench_torque(START, F, FRAME), rtol=1e-9)


@pytest.mark.parametrize(('age', 'acts'), [(-150, False), (-90, True), (90, True), (150, False)])
def test_a_wrench_with_a_stamp_acts_near_that_time_alone(graph, age, acts):
    """However late it is received: its own stamp counts, not that of the state."""
    arm = Arm(graph)
    message = pressing(x=2.0)
    message.header.stamp = messages.time_message(BEGIN + age * MS)
    _, added = still_and_pressed(arm, message)
    assert bool(np.abs(added).max() > 0.1) == acts


def test_a_wrench_ends_with_a_reset_of_the_time_and_with_the_activation(graph):
    for restart in ('reset', 'activation'):
        arm = Arm(graph)
        still, added = still_and_pressed(arm, pressing(x=1e4))
        assert np.abs(added).max() > 1
        if restart == 'reset':
            arm.k -= 200
        else:
            arm.called.begin_anew()
            arm.k += 1
        assert arm.node.frame._wrench.newest is None or restart == 'reset'
        np.testing.assert_allclose(arm.answer(), still, rtol=1e-9)
        assert arm.node.frame.status() is None


PARAMETERS = {
    'impedance.translational_stiffness': [900.0],
    'impedance.rotational_stiffness': [60.0],
    'impedance.damping_ratio': 0.3,
    'impedance.posture_stiffness': [40.0],
    'impedance.posture_damping': 15.0,
}


@pytest.mark.slow
@pytest.mark.parametrize('name', PARAMETERS)
@pytest.mark.parametrize('scale', [1.0, 0.5])
def test_each_parameter_alone_is_adopted_and_stiffness_rises_slowly(graph, name, scale):
    """The torque of the law with that parameter: at once where it falls, or is no stiffness."""
    arm = Arm(graph, **{'impedance.posture_stiffness': [20.0]})
    arm.answer()
    node, before = arm.node, arm.node.frame._wanted
    value = PARAMETERS[name]
    if scale < 1:
        old = node.get_parameter(name).value
        value = scale * old if isinstance(old, float) else [scale * x for x in old]
    node.set_parameters([Parameter(name, value=value)])
    wanted = node.frame._wanted
    field = name.removeprefix('impedance.')
    for other in ('stiffness', 'damping', 'posture_stiffness'):
        changes = not np.array_equal(getattr(before, other), getattr(wanted, other))
        parts = {'damping': ('damping_ratio', 'posture_damping'), 'posture_stiffness': (field,)}
        expected = field in parts.get(other, (field,) if field.endswith('al_stiffness') else ())
        if other == 'posture_stiffness':
            expected = field == 'posture_stiffness'
        assert changes == expected
    rises = 'stiffness' in name and scale == 1.0
    arm.answer()
    present = node.frame._ramp.present
    slower = np.any(present.stiffness < wanted.stiffness) or np.any(
        present.posture_stiffness < wanted.posture_stiffness
    )
    assert slower == rises
    for _ in range(2000):
        arm.answer()
    assert node.frame._ramp.present is wanted
    for _, part in (('limits', 'pose_limits'),):
        assert getattr(node.parameters, part) == node.frame.follower._limits


@pytest.mark.parametrize('name', ['max_velocity', 'max_acceleration', 'max_distance'])
def test_each_limit_of_the_target_alone_is_adopted(graph, name):
    arm = Arm(graph)
    arm.answer()
    before = arm.node.frame.follower._limits
    arm.node.set_parameters([Parameter(f'impedance.{name}', value=[0.4, 0.05])])
    short = name.removeprefix('max_')
    assert arm.node.frame.follower._limits == replace(before, **{short: (0.4, 0.05)})


def test_a_torque_of_the_frame_that_is_not_finite_places_the_target_anew(graph, monkeypatch):
    arm = Arm(graph)
    arm.move(5, pose_at(START + 0.2, arm.arm))
    law = arm.node.frame._compiled[1]
    normal = law.torque
    broken = np.full(2, np.nan)
    monkeypatch.setattr(law, 'torque', lambda *a, **k: normal(*a, **k)._replace(z=broken))
    assert arm.answer() is None
    assert arm.node.health.counts['not finite, not published'] == 1
    monkeypatch.undo()
    assert np.isfinite(arm.answer()).all()
    np.testing.assert_allclose(arm.node.frame.follower.present.pose, arm.pose)
