# SPDX-License-Identifier: Apache-2.0
"""A simulated panda with the errors of a real one, that is pushed while it moves."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control import Reference
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation.hardware import load_profile
from robot_dynamics.simulation.recordings import record_tracking

PROFILE = load_profile(Path(__file__).parents[1] / 'config/realistic_panda.yaml')
TOOL = 'panda_link8'
STEP = 1e-3  # s
RESOLUTION = 6e-6  # rad, of the encoders
EXACT_STAMPS = replace(PROFILE, sensors=replace(PROFILE.sensors, jitter=0.0))


class TouchedArm:
    """The arm, whose links are 1 % off the model and whose friction is 10 % off.

    Gains and offsets of the drives are known, as after an identification.
    """

    def __init__(self, profile=PROFILE, seed=0):
        self.model = rd.Dynamics(rd.load_urdf('panda'))
        self.profile = replace(profile, model_error=(0.005, 0.01))
        self.true = rd.Dynamics(self.profile.actual(self.model.model, seed))
        self.friction = FrictionSettings(law='coulomb_memory').of(self.model.model)

    def measured(self, motion, seeds=(0,), true=None, **given):
        """Return recordings of a motion, one for each seed, in the unit of the drives."""
        true = self.true if true is None else true
        return record_tracking(
            true, motion, self.profile, seeds=seeds, controller=self.model, **given
        )

    def recorded(self, motion, seeds=(0,), **given):
        """Return recordings of a motion, one for each seed, in N m on the joints."""
        gain = np.asarray(self.profile.drives.gain)
        offset = np.asarray(self.profile.sensors.effort_offset)
        recordings = self.measured(motion, seeds, **given)
        return [one._replace(effort=gain * (one.effort - offset)) for one in recordings]

    def observer(self, **settings):
        """Return an observer with the model."""
        given = {'play': 1.2 * RESOLUTION, 'effort_lead': 2.1e-3, **settings}
        return MomentumObserver(self.model, self.friction, ObserverSettings(**given))


def wandering(model, seconds, seed, slowest=1.2):
    """Return a motion from posture to posture, with rests, within the limits of a model."""
    rng = np.random.default_rng(seed)
    count = round(seconds / STEP)
    middle, half = (model.upper + model.lower) / 2, 0.35 * (model.upper - model.lower)
    q = [middle]
    legs = []
    while sum(len(leg) for leg in legs) < count:
        there = middle + half * rng.uniform(-1, 1, model.n)
        # The peak speed of a quintic is 15/8 of its mean.
        duration = max(slowest, *(15 / 8 * np.abs(there - q[-1]) / (0.5 * model.velocity_limit)))
        s = np.arange(round(duration / STEP)) * STEP / duration
        ways = (
            10 * s**3 - 15 * s**4 + 6 * s**5,
            (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
            (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
        )
        leg = np.array([np.outer(x, there - q[-1]) for x in ways])
        leg[0] += q[-1]
        rest = np.zeros((3, round(rng.uniform(0.1, 1.0) / STEP), model.n))
        rest[0] = there
        legs += [*np.moveaxis(leg, 1, 0)[None], *np.moveaxis(rest, 1, 0)[None]]
        q.append(there)
    return Reference(*np.moveaxis(np.concatenate(legs)[:count], 1, 0))
