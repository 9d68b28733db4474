# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda on a cart: its momentum observer with a good inertial sensor, and a push.

The sensor is 2 ms late, off by 0.02 m/s^2, 0.3 degrees askew and away from the origin of the base,
and has the noise of a good one: 1e-4 rad/s and 7e-4 m/s^2 per root of Hz.
"""

from pathlib import Path

import numpy as np
import pytest
from tiers import slow_rows, soak_rows

import robot_dynamics as rd
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.base_motion_estimate import BaseMotionEstimate, BaseMotionSettings
from robot_dynamics.control.base_motion_sources import InertialSource, Mounting
from robot_dynamics.control.contact import ContactDetector
from robot_dynamics.control.contact_thresholds import FreeMotion
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation import (
    InertialSensing,
    InertialSensor,
    Simulator,
    load_base_motion,
)

CART = load_base_motion(Path(__file__).parents[2] / 'config/cart_motion.yaml')
STEP, GRAVITY = 2e-3, np.array([0.0, 0.0, -9.81])  # s, of simulation, joints and sensor
DENSITY = (0.5 / STEP) ** 0.5
GOOD = InertialSensor(1e-4 * DENSITY, 2e-4, 7e-4 * DENSITY, 0.02, latency=2e-3)
PLACE, ASKEW = np.array([0.2, -0.1, 0.15]), rotation_rpy(0.003, -0.003, 0.003)
MIDDLE = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.8, 0.5])
PUSH = 5.0 * np.eye(7)[1]  # N m, at joint 2


@pytest.fixture(scope='module')
def panda():
    return rd.Dynamics(rd.load_urdf('panda'))


class Cart:
    """The arm on the cart that follows sines, and the motion of its base as the sensor sees it."""

    def __init__(self, arm, seed):
        rng = np.random.default_rng(seed)
        self.rate = 2 * np.pi * rng.uniform(0.05, 0.3, (2, 7))
        self.phase = rng.uniform(0, 6, (2, 7))
        self.moving = arm.on_moving_base()
        settings = BaseMotionSettings('imu')
        self.source, self.estimate = InertialSource(settings), BaseMotionEstimate(settings)
        self.sensing = InertialSensing(GOOD, CART, seed=seed, orientation=ASKEW, position=PLACE)
        q, qd, _ = self.reference(0.0)
        self.simulator = Simulator(arm, q=q, qd=qd, time_step=STEP, base_motion=CART)

    def reference(self, t):
        w, angle, A = self.rate, self.rate * t + self.phase, np.array([[0.4], [0.15]])
        rows = A * np.sin(angle), A * w * np.cos(angle), -A * w * w * np.sin(angle)
        q, qd, qdd = (row.sum(axis=0) for row in rows)
        return MIDDLE + q, qd, qdd

    def base(self):
        """Return the present motion of the base as it is estimated (9,)."""
        stamp, mounted = round(self.simulator.time * SECOND), Mounting(np.eye(3), PLACE)
        measured = self.sensing.read(self.simulator.time)
        sample = self.source.add(stamp, *measured[:2], mounted, GRAVITY, measured.attitude)
        if sample is not None:
            self.estimate.add(sample)
        return self.estimate.at(stamp, GRAVITY)

    def step(self, base, external):
        (q_d, qd_d, qdd_d), one = self.reference(self.simulator.time), self.simulator
        wanted = qdd_d + 100.0 * (q_d - one.q) + 20.0 * (qd_d - one.qd)
        one.step(self.moving.inverse_dynamics(one.q, one.qd, wanted, base), external=external)


class Watch:
    """External torques of two observers, of which one knows the base, and contact by the first."""

    def __init__(self, arm, thresholds=None):
        friction = FrictionSettings().of(arm.model)
        self.knows = MomentumObserver(arm, friction, ObserverSettings(), moving_base=True)
        self.fixed = MomentumObserver(arm, friction, ObserverSettings())
        self.detector = None
        if thresholds is not None:
            self.detector = ContactDetector(self.knows, 'panda_link8', thresholds)
        self.free = FreeMotion(arm.model.n)
        self.found, self.unaware, self.contacts, self.excess = [], [], [], []

    def update(self, one, base):
        state = one.time, one.q, one.qd, one.effort
        self.fixed.update(*state)
        if self.knows.update(*state, base) and one.time > 1.0:
            self.free.add(one.time, self.knows)
            self.found.append(self.knows.external_torque)
            self.unaware.append(self.fixed.external_torque)
            if self.detector is not None:
                contact = self.detector.update(*state, base)
                self.contacts.append(contact.kind)
                self.excess.append(contact.excess)


def watched(arm, seconds, seed, thresholds=None, pushed=np.inf):
    """Return the watch of a motion of the arm; a push acts from a time on."""
    cart, watch = Cart(arm, seed), Watch(arm, thresholds)
    while cart.simulator.time < seconds:
        base = cart.base()
        watch.update(cart.simulator, base)
        cart.step(base, PUSH if cart.simulator.time >= pushed else np.zeros(7))
    return watch


@pytest.mark.parametrize(
    ('learned', 'seconds'), [*slow_rows([(6.0, 6.0)]), *soak_rows([(600.0, 600.0)])]
)
def test_contact_is_found_on_a_cart_by_its_inertial_sensor(panda, learned, seconds):
    thresholds = watched(panda, learned, 1).free.learned().thresholds
    watch = watched(panda, seconds + 0.3, 2, thresholds, pushed=seconds)
    free = len(watch.found) - round(0.3 / STEP)
    found, unaware = np.array(watch.found), np.array(watch.unaware)
    rms, without = (np.sqrt((x[:free] ** 2).mean(axis=0)).max() for x in (found, unaware))
    most, without_most = (np.abs(x[:free]).max() for x in (found, unaware))
    reached = found[free + 50 :].mean(axis=0)
    print(f'rms {rms:.3f} of {without:.3f} N m, largest {most:.3f} of {without_most:.3f} N m')
    print(f'largest contact {max(watch.excess[:free]):.2f} of the threshold')
    print(f'push {np.round(reached, 2)} N m')
    assert without > 2.0
    assert rms < 0.1 * without
    assert most < 0.1 * without_most
    assert set(watch.contacts[:free]) == {'none'}
    # 95 % of it after 4.7 / poles, 32 ms
    later = watch.contacts[free + 17 :]
    assert set(later) <= {'contact', 'collision'}
    assert np.abs(found[free + 50 :] - PUSH).max() < 1.0
