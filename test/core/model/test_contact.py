# SPDX-License-Identifier: Apache-2.0
"""External wrenches: body and reference point, and rejected input."""

import numpy as np
import pytest

from robot_dynamics.common.errors import FrameNotFound, ShapeError
from robot_dynamics.core.model.contact import contact
from robot_dynamics.core.model.robots import planar_2r


def test_the_last_frame_is_the_default():
    wrench = np.arange(6.0)
    touch = contact(planar_2r(), wrench)
    assert touch.body == 1
    np.testing.assert_array_equal(touch.moment, wrench[:3])
    np.testing.assert_array_equal(touch.force, wrench[3:])
    assert contact(planar_2r(), wrench, 'link1').body == 0


def test_no_torque_from_the_base_or_without_a_wrench():
    assert contact(planar_2r(), np.ones(6), 'base').body == -1
    assert contact(planar_2r(), None).body == -1


def test_errors_name_what_is_wrong():
    with pytest.raises(ShapeError, match=r'tip_wrench has shape \(5,\)'):
        contact(planar_2r(), np.ones(5))
    with pytest.raises(FrameNotFound, match=r"'hand'.*base, link1, link2"):
        contact(planar_2r(), None, 'hand')
