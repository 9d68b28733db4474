import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseWithCovariance, WrenchStamped
from rcl_interfaces.msg import Parameter, ParameterEvent, ParameterValue
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.ros.recordings.cdr import serialized
from robot_dynamics.ros.recordings.run_messages import definition, type_name


def joint_state(names, *lengths):
    values = [[float(k) for k in range(length)] for length in lengths]
    message = JointState(name=names, position=values[0], velocity=values[1], effort=values[2])
    message.header.frame_id = 'base'
    return message


def parameter(name, **value):
    return Parameter(name=name, value=ParameterValue(**value))


MESSAGES = [
    String(),
    String(data='some text'),
    String(data='Köln, 15 °C'),
    JointState(),
    joint_state(['a'], 1, 1, 1),
    joint_state(['shoulder', 'elbow', 'wrist'], 3, 3, 0),
    joint_state(['shoulder', 'elbow'], 0, 0, 2),
    joint_state([], 0, 5, 0),
    WrenchStamped(),
    ParameterEvent(node='/simulator_node'),
    ParameterEvent(
        node='n',
        new_parameters=[
            parameter('flag', type=1, bool_value=True),
            parameter('count', type=2, integer_value=-3),
            parameter('text', type=4, string_value='abcd'),
            parameter('bytes', type=5, byte_array_value=[b'\x01', b'\x02', b'\x03']),
            parameter('numbers', type=8, double_array_value=[1.0, 2.0]),
            parameter('texts', type=9, string_array_value=['', 'a', 'bc']),
            parameter('last', type=7, integer_array_value=[1]),
        ],
    ),
]


@pytest.mark.parametrize('message', MESSAGES, ids=lambda message: type(message).__name__)
def test_ros_reads_it(message):
    assert deserialize_message(serialized(message), type(message)) == message


@pytest.mark.parametrize('message', MESSAGES, ids=lambda message: type(message).__name__)
def test_an_independent_encoder_finds_the_same_bytes(message):
    dynamic = pytest.importorskip('mcap_ros2._dynamic')
    if isinstance(message, ParameterEvent) and message.new_parameters:
        del message.new_parameters[3]  # it takes bytes for numbers
    name = type_name(type(message))
    encode = dynamic.serialize_dynamic(name, definition(name.replace('/msg/', '/')))[name]
    assert encode(message) == serialized(message)


def test_a_type_that_cannot_be_measured_is_refused():
    with pytest.raises(NotImplementedError, match=r'covariance of type double\[36\]'):
        serialized(PoseWithCovariance())
