# SPDX-License-Identifier: Apache-2.0
"""External torques of an arm on a cart, whose motion a good inertial sensor measures.

The motion is that of the study in docs/guides/moving_base.md: 1 rad/s and 2 m/s^2, a floor with
bumps. The sensor is beside the origin; it has noise, bias, misalignment and a delay.
"""

import numpy as np
import pytest
from tiers import soak

import robot_dynamics as rd
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.base_motion_estimate import BaseMotionEstimate, BaseMotionSettings
from robot_dynamics.control.base_motion_sources import InertialSource, Mounting
from robot_dynamics.control.contact import NONE, ContactDetector
from robot_dynamics.control.contact_thresholds import ContactThresholds
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.core.friction.coefficients import coulomb_friction

RATE = 400  # Hz, of sensor and joints
GRAVITY = np.array([0.0, 0.0, -9.81])
MOUNTING = Mounting(rotation_rpy(0.3, -0.2, 1.0), np.array([0.2, -0.1, 0.15]))
DELAY = 1  # samples
LAST = 'panda_link7'


def waves(t, *parts):
    """Return the sum of sines [Hz, amplitude] and its two derivatives."""
    x, xd, xdd = np.zeros((3, *t.shape))
    for k, (frequency, size) in enumerate(parts):
        w = 2 * np.pi * frequency
        s, c = size * np.sin(w * t + k), size * np.cos(w * t + k)
        x, xd, xdd = x + s, xd + w * c, xdd - w * w * s
    return x, xd, xdd


def cart(t):
    """Return motions (k, 9) of the base, and R_wb (k, 3, 3)."""
    roll, pitch, yaw = (
        waves(t, *parts)
        for parts in (
            [(0.3, 0.004), (2.0, 0.002)],
            [(0.25, 0.004), (1.7, 0.002)],
            [(0.2, 0.5), (0.5, 0.1)],
        )  # Hz and rad
    )
    acceleration = np.stack(
        [waves(t, (0.2, 0.8), (0.6, 0.1))[2], waves(t, (0.15, 0.6))[2], waves(t, (1.5, 0.003))[2]],
        axis=-1,
    )
    R = np.array([rotation_rpy(*x) for x in zip(roll[0], pitch[0], yaw[0], strict=True)])
    (sr, cr), (sp, cp) = (np.array([np.sin(x), np.cos(x)]) for x in (roll[0], pitch[0]))
    rd_, pd, yd = roll[1], pitch[1], yaw[1]
    # Angular velocity in the axes of the base from the rates of roll, pitch and yaw
    w = np.stack([rd_ - sp * yd, cr * pd + sr * cp * yd, -sr * pd + cr * cp * yd], axis=-1)
    wd = np.gradient(w, t, axis=0)
    a = np.einsum('kji,kj->ki', R, acceleration - GRAVITY)
    return np.concatenate([w, wd, a], axis=-1), R


def measured(motions, R, rng):
    """Return gyroscope and accelerometer (k, 3) of a good sensor, and its attitude."""
    w, wd, a = np.split(motions, 3, axis=-1)
    r = MOUNTING.position
    f = a + np.cross(wd, r) + np.cross(w, np.cross(w, r))
    awry = np.eye(3) + rng.normal(size=(3, 3)) * np.radians(0.3)
    found = []
    for x, noise, bias in ((w, 1e-4, 2e-4), (f, 7e-4, 0.02)):
        x = np.roll(x, DELAY, axis=0) @ MOUNTING.orientation @ awry.T
        found.append(x + bias * rng.choice([-1, 1], 3))
        found[-1] += noise * np.sqrt(RATE / 2) * rng.normal(size=x.shape)
    return *found, R @ MOUNTING.orientation


@pytest.mark.slow
@pytest.mark.parametrize('seconds', [20, *soak([600])])
def test_the_residual_is_a_tenth_there_is_no_contact_and_5_nm_are_found(seconds):
    arm, friction = rd.Dynamics(rd.load_urdf('panda')).without_friction(), coulomb_friction(0, 0)
    t, rng = np.arange(0, seconds, 1 / RATE), np.random.default_rng(0)
    motions, R = cart(t)
    middle = np.clip((arm.model.lower + arm.model.upper) / 2, -2, 2)
    q, qd, qdd = np.moveaxis(
        [waves(t + j, (0.1, 0.5), (0.3, 0.15)) for j in range(arm.model.n)], 0, -1
    )
    q = q + middle
    effort = arm.on_moving_base().inverse_dynamics(q, qd, qdd, motions)
    push = 5.0 * np.eye(7)[1]
    effort[-RATE:] -= push  # in the last second
    settings = BaseMotionSettings(source='imu')
    source, estimate = InertialSource(settings), BaseMotionEstimate(settings)
    observer = MomentumObserver(arm, friction, ObserverSettings(), moving_base=True)
    fixed = MomentumObserver(arm, friction, ObserverSettings())
    # Contact above 1.5 N m; free motion has 0.8 at most
    thresholds = ContactThresholds(noise=0.5, level=2.0)
    detector, found, kinds = ContactDetector(observer, LAST, thresholds), [], []
    for k, (w, f, attitude) in enumerate(zip(*measured(motions, R, rng), strict=True)):
        stamp = round(k * SECOND / RATE)
        sample = source.add(stamp, w, f, MOUNTING, GRAVITY, attitude)
        if sample is not None:
            estimate.add(sample)
        base = estimate.at(stamp, GRAVITY)
        fixed.update(t[k], q[k], qd[k], effort[k])
        known = observer.update(t[k], q[k], qd[k], effort[k], base)
        contact = detector.update(t[k], q[k], qd[k], effort[k], base) if known else NONE
        found.append([observer.external_torque, fixed.external_torque])
        kinds.append(contact.kind)
    free = np.array(found)[2 * RATE : -RATE]
    residual, without = np.sqrt((free**2).mean(axis=0)).max(axis=-1)
    assert residual < 0.1 * without
    assert set(kinds[2 * RATE : -RATE]) == {'none'}
    assert kinds[-1] in ('contact', 'collision')
    np.testing.assert_allclose(found[-1][0], push, atol=0.5)
