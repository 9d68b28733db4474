# SPDX-License-Identifier: Apache-2.0
"""Namespaces that are accepted are those of ROS."""

import pytest

pytest.importorskip('rclpy')

from rclpy.exceptions import InvalidNamespaceException
from rclpy.validate_namespace import validate_namespace

from robot_dynamics.ros.graph_client import GraphError, checked_namespace
from robot_dynamics.ros.namespaces import LONGEST, is_namespace

RIGHT = ['', '/', 'left', '/left', 'left/', '/cell_2/left', '_a', 'a' * (LONGEST - 1)]
WRONG = ['2left', 'a b', 'a//b', 'left/2', 'a-b', '~', 'ä', '{ns}', 'a\n', 'a' * LONGEST]


@pytest.mark.parametrize('text', [*RIGHT, *WRONG])
def test_a_namespace_is_accepted_as_by_ros(text):
    """A slash at the end, which ROS does not take, is removed first."""
    absolute = '/' + text.removeprefix('/').removesuffix('/')
    try:
        expected = validate_namespace(absolute)
    except InvalidNamespaceException:
        expected = False
    assert is_namespace(text) == expected == (text in RIGHT)


def test_a_checked_namespace_has_no_slash_at_its_end():
    assert checked_namespace('left/') == 'left'
    assert checked_namespace('/cell/left/') == '/cell/left'
    with pytest.raises(GraphError, match="--namespace is '2left'; expected names"):
        checked_namespace('2left')
