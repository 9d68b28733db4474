# SPDX-License-Identifier: Apache-2.0
"""What the launch files compute, without `launch`."""

import numpy as np
import pytest
import urdf_text

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros.launching import feedback_gains, root_link
from robot_dynamics.urdf.loading import load_urdf

PANDA = share_file('urdf/panda.urdf')


def test_the_root_link():
    assert root_link(PANDA.read_text()) == 'panda_link0'


def test_the_gains_are_stable_all_over_the_range():
    h, arm = 1e-3, Dynamics(load_urdf(PANDA))
    gains = feedback_gains(PANDA, h)
    assert len(gains['kp']) == len(gains['kd']) == 7
    assert min(gains['kp']) > 0
    stiffness, damping = np.diag(gains['kp']), np.diag(gains['kd'])
    rng = np.random.default_rng(7)
    for q in rng.uniform(arm.model.lower, arm.model.upper, (50, 7)):
        M_inverse = np.linalg.inv(arm.mass_matrix(q))
        # One step of semi-implicit Euler: v' = v - h M^-1 (Kp e + Kd v),  e' = e + h v'
        v = np.hstack([-h * M_inverse @ stiffness, np.eye(7) - h * M_inverse @ damping])
        e = np.hstack([np.eye(7), np.zeros((7, 7))]) + h * v
        assert np.abs(np.linalg.eigvals(np.vstack([e, v]))).max() < 1


def test_a_joint_that_moves_no_mass_is_named(tmp_path):
    file = tmp_path / 'robot.urdf'
    file.write_text(
        urdf_text.robot(
            urdf_text.link('a'), urdf_text.link('b', ''), urdf_text.joint('idle', 'a', 'b')
        )
    )
    with pytest.raises(ModelError, match='move no mass: idle'):
        feedback_gains(file, 1e-3)
