# SPDX-License-Identifier: Apache-2.0
"""Example robots against their docstrings, and the PUMA 560 against published constants.

Their equations of motion are tested in test/textbook/test_closed_forms.py.
"""

import warnings

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model import robots as samples
from robot_dynamics.core.model.inertia import inconsistency
from robot_dynamics.core.model.robots import (
    PUMA560_DRIVE_INERTIA,
    PUMA560_KINEMATICS,
    PUMA560_LINKS,
)
from robot_dynamics.formulations import euler_lagrange

SAMPLES = {
    name: getattr(samples, name)
    for name in (
        'vertical_particle',
        'geared_link',
        'cartesian_arm',
        'planar_2r',
        'remote_elbow',
        'five_bar',
        'point_mass_2r',
        'puma560',
    )
}


@pytest.mark.parametrize('name', SAMPLES)
def test_every_sample_is_ready_to_use(name):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model = SAMPLES[name]()
    assert model.name == name
    M = Dynamics(model, backend='python').mass_matrix(np.full(model.n, 0.3))
    assert np.linalg.eigvalsh(M)[0] > 0
    if name != 'puma560':  # its published data are known to break it
        assert [inconsistency(model.inertial(i)) for i in range(model.nb)] == [None] * model.nb


@pytest.mark.parametrize('name', SAMPLES)
def test_the_docstring_lists_every_sample(name):
    assert f'\n    {name} ' in samples.__doc__


def test_geared_link():
    model = samples.geared_link(30.0, 1e-3, 0.5, 2.0, 0.4, 1e-4, 0.2)
    assert model.viscous == pytest.approx([30.0**2 * 1e-4 + 0.2], rel=1e-15)
    assert model.reflected_inertia == pytest.approx([30.0**2 * 1e-3], rel=1e-15)
    # It hangs down at q = 0 and is horizontal, with the full gravity torque, at a quarter turn.
    assert euler_lagrange.gravity_torque(model, np.zeros(1)) == 0
    level = euler_lagrange.gravity_torque(model, np.array([np.pi / 2]))
    assert level == pytest.approx([2.0 * 9.81 * 0.4], rel=1e-15)
    with pytest.raises(
        ModelError, match=r'link_inertia is 0.3 kg m.2 .*expected at least .* = 0.32 kg m'
    ):
        samples.geared_link(link_inertia=0.3, mass=2.0, com=0.4)


def test_the_five_bar_loop_stays_closed():
    model = samples.five_bar((0.8, 0.37))
    for q in np.random.default_rng(0).uniform(-3, 3, (20, 2)):
        end3, end4 = (kin.frame_pose(model, q, name)[:3, 3] for name in ('end3', 'end4'))
        assert np.abs(end3 - end4).max() < 1e-15 * 4
        # Links 1 and 3 are parallel, 2 and 4 opposite.
        x = [kin.frame_pose(model, q, f'link{k}')[:3, 0] for k in (1, 2, 3, 4)]
        assert np.abs(x[0] - x[2]).max() < 1e-15 * 4
        assert np.abs(x[1] + x[3]).max() < 1e-15 * 4


def test_remote_elbow_has_absolute_angles():
    model = samples.remote_elbow()
    assert model.joint_names == ('motor1', 'motor2')
    for p1 in (0.0, 0.7, -2.0):
        x = kin.frame_pose(model, np.array([p1, 0.4]), 'link2')[:3, 0]
        assert np.abs(x - [np.cos(0.4), np.sin(0.4), 0.0]).max() < 1e-15


# -- PUMA 560 -------------------------------------------------------------------------------------

PUMA = samples.puma560()


def test_puma_kinematics():
    """Upper arm along x, forearm up, at q = 0: distances as in the published table."""
    wrist = kin.frame_pose(PUMA, np.zeros(6), 'link6')[:3, 3]
    assert np.abs(wrist - [0.4318 - 0.0203, 0.2435 - 0.0934, 0.4331]).max() < 1e-15
    # Turning joint 2 by -90 degrees raises the upper arm, and the forearm points back.
    elbow_up = kin.frame_pose(PUMA, np.array([0, -np.pi / 2, 0, 0, 0, 0]), 'link3')[:3, 3]
    assert np.abs(elbow_up - [0.0, 0.2435 - 0.0934, 0.4318]).max() < 1e-15


def published_constants():
    """Return I_1 ... I_7 as the 1986 paper defines them, from the link parameters above.

    They are of the arm without its drives; of link 1, only I_zz occurs.
    """
    m = [None] + [mass for mass, _, _ in PUMA560_LINKS]
    r = [None] + [com for _, com, _ in PUMA560_LINKS]
    I = [None] + [moments for _, _, moments in PUMA560_LINKS]
    x, y, z = 0, 1, 2
    a2, a3 = PUMA560_KINEMATICS[2][0], PUMA560_KINEMATICS[3][0]
    d2, d3, d4 = PUMA560_KINEMATICS[1][2], PUMA560_KINEMATICS[2][2], PUMA560_KINEMATICS[3][2]
    wrist = m[4] + m[5] + m[6]
    I1 = I[1][z] + m[2] * d2**2 + wrist * a3**2 + m[2] * r[2][z] ** 2
    I1 += (m[3] + wrist) * (d2 + d3) ** 2 + I[2][x] + I[3][y] + 2 * m[2] * d2 * r[2][z]
    I1 += m[2] * r[2][y] ** 2 + m[3] * r[3][z] ** 2 + 2 * m[3] * (d2 + d3) * r[3][z]
    I1 += I[4][z] + I[5][y] + I[6][z]
    I2 = I[2][z] + m[2] * (r[2][x] ** 2 + r[2][y] ** 2) + (m[3] + wrist) * a2**2
    I3 = -I[2][x] + I[2][y] + (m[3] + wrist) * a2**2 + m[2] * (r[2][x] ** 2 - r[2][y] ** 2)
    I4 = m[2] * r[2][x] * (d2 + r[2][z]) + m[3] * a2 * r[3][z] + (m[3] + wrist) * a2 * (d2 + d3)
    I5 = -m[3] * a2 * r[3][y] + wrist * a2 * d4 + m[4] * a2 * r[4][z]
    I6 = I[3][z] + m[3] * r[3][y] ** 2 + m[4] * a3**2 + m[4] * (d4 + r[4][z]) ** 2 + I[4][y]
    I6 += m[5] * (a3**2 + d4**2) + I[5][z] + m[6] * (a3**2 + d4**2 + r[6][z] ** 2) + I[6][x]
    I7 = m[3] * r[3][y] ** 2 + I[3][x] - I[3][y] + m[4] * r[4][z] ** 2 + 2 * m[4] * d4 * r[4][z]
    I7 += wrist * (d4**2 - a3**2) + I[4][y] - I[4][z] + I[5][z] - I[5][y]
    I7 += m[6] * r[6][z] ** 2 - I[6][z] + I[6][x]
    return {'I1': I1, 'I2': I2, 'I3': I3, 'I4': I4, 'I5': I5, 'I6': I6, 'I7': I7}


# Printed in the paper, kg m^2. Its I1 and I3 are left out: they are not what its own table gives.
PRINTED = {'I2': 1.75, 'I4': 0.690, 'I5': 0.372, 'I6': 0.333, 'I7': 0.298}


@pytest.mark.parametrize('name', PRINTED)
def test_puma_link_data_give_the_published_constants(name):
    # The paper rounds to three digits.
    assert published_constants()[name] == pytest.approx(PRINTED[name], rel=5e-3)


def test_puma_inertia_matrix_is_the_explicit_model_s():
    """Entries of the explicit model at q4 = q5 = q6 = 0, without its smallest terms.

    a_11 = Im1 + I1 + I3 C2^2 + I7 S23^2 + 2 I5 C2 S23 + ...
    a_22 = Im2 + I2 + I6 + 2 I5 S3 + ...,  a_33 = Im3 + I6 + ...
    """
    c, Im = published_constants(), PUMA560_DRIVE_INERTIA
    for q2, q3 in [(0.0, 0.0), (0.4, -1.1), (-1.0, 2.0)]:
        M = euler_lagrange.mass_matrix(PUMA, np.array([0.5, q2, q3, 0.0, 0.0, 0.0]))
        S3, C2, S23 = np.sin(q3), np.cos(q2), np.sin(q2 + q3)
        a11 = Im[0] + c['I1'] + c['I3'] * C2**2 + c['I7'] * S23**2 + 2 * c['I5'] * C2 * S23
        assert M[0, 0] == pytest.approx(a11, abs=0.05)
        # The terms left out are below 0.03 kg m^2.
        assert M[1, 1] == pytest.approx(Im[1] + c['I2'] + c['I6'] + 2 * c['I5'] * S3, abs=0.05)
        assert M[2, 2] == pytest.approx(Im[2] + c['I6'], abs=0.01)
        assert M[1, 2] == pytest.approx(c['I6'] + c['I5'] * S3, abs=0.03)


def test_puma_gravity_is_the_explicit_model_s():
    """g_2 = g1 C2 + g2 S23 + g3 S2 + g4 C23 + g5 S23, g1 = -37.2 and g2 = -8.44 N m, as printed.

    The paper's g is the torque of gravity, ours what the motors must supply: the signs of joint 2
    agree since its positive turn lowers the arm.
    """
    for q2, q3 in [(0.0, 0.0), (0.4, -1.1), (-1.0, 2.0)]:
        g = euler_lagrange.gravity_torque(PUMA, np.array([0.5, q2, q3, 0.0, 0.0, 0.0]))
        S2, C2, S23, C23 = np.sin(q2), np.cos(q2), np.sin(q2 + q3), np.cos(q2 + q3)
        expected = -37.2 * C2 - 8.44 * S23 + 1.02 * S2 + 0.249 * C23
        # 0.5 N m is the uncertainty of g1; g5 at q5 = 0 is 0.028 N m.
        assert g[1] == pytest.approx(expected, abs=0.5)
        assert g[2] == pytest.approx(-8.44 * S23 + 0.249 * C23, abs=0.2)
        assert abs(g[0]) < 1e-13


def test_puma_drives():
    assert PUMA.reflected_inertia == pytest.approx(PUMA560_DRIVE_INERTIA, rel=1e-15)
    # Friction at joint 1: 62.6 turns of 1.48e-3 N m s/rad, and 0.415 N m on average.
    assert PUMA.viscous[0] == pytest.approx(62.6111**2 * 1.48e-3, rel=1e-15)
    assert PUMA.coulomb[0] == pytest.approx(62.6111 * 0.415, rel=1e-15)
    # Joint friction grows towards the base.
    assert np.all(PUMA.viscous[:3] > PUMA.viscous[3:].max())


def test_inconsistent_puma_data_are_as_documented():
    reasons = [inconsistency(PUMA.inertial(i)) for i in range(6)]
    assert reasons[0].startswith('principal moments')
    assert 'triangle inequality' in reasons[2]
    assert [i for i, reason in enumerate(reasons) if reason] == [0, 2]
