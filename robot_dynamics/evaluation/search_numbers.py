# SPDX-License-Identifier: Apache-2.0
"""Tuned numbers of the search of causes.

They were found by trial on simulated recordings of `benchmarks.evaluation`, with other seeds than
those of the tables in docs/appendices/evaluation_rates.md, where false causes were to vanish and
true ones to stay; limits of bodies and gravity are physical. Half of SMALL.several,
SMALL.of_effort or CERTAIN lost a payload on an arm with gains that are 1.5 % off; half of any
other changed nothing on the five recordings of that page.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class RequiredMotion(NamedTuple):
    """Motion below which the friction of a joint is not determined."""

    share: float = 0.1  # of the time, and
    samples: int = 50  # independent ones


class Reported(NamedTuple):
    """Sizes below which a cause is omitted: it is certain, but hardly matters."""

    of_residual: float = 0.05  # of that of a joint
    of_effort: float = 0.01  # of that of a joint
    of_gravity: float = 0.005  # of the effort, an error of gravity
    of_mass: float = 0.1  # of a link's, an error of its mass alone
    few: int = 3  # causes; more of them mimic each other, and must be larger
    of_many: float = 2.0  # by this factor


class Validity(NamedTuple):
    """Prediction of blocks of time that were not fitted."""

    failed: int = 1  # of the blocks that excite a cause: more must not contradict it
    excited: float = 0.05  # of the mean square of a column per block: less is no excitation


class SmallErrors(NamedTuple):
    """Errors of an inexact model, which are no causes: standard deviations of their priors."""

    of_effort: float = 0.02  # of a joint's effort: gain, friction and rotor of its drive
    of_link: float = 0.01  # of the prior of a link's inertia
    of_several: float = 0.1  # the same where several links are wrong:
    several: int = 2  # so many have errors of similar size, that is
    similar: float = 0.25  # of the largest
    minor: float = 0.5  # of the residual: small errors explain at most this


class Priors(NamedTuple):
    """Standard deviations of the unknowns of causes; those of torques are the joint's effort."""

    scale: float = 0.5
    delay: float = 0.02  # s
    of_mass: float = 0.5  # of a link's mass, for mass and tensor in proportion
    gravity: float = 5.0  # m/s^2, each component
    longer: float = 0.015  # m/s^2, of the magnitude of gravity in a small tilt
    length: float = 0.2  # m, of a centre of mass: at least


class Prices(NamedTuple):
    """What a cause must explain, in log probability."""

    cause: float = 8.0  # each
    of_link: float = 6.0  # more for all parameters of a link
    ambiguous: float = 8.0  # an alternative explains as much, but for this


class Limits(NamedTuple):
    """Limits of what is physically possible."""

    earth: tuple[float, float] = (9.7, 9.9)  # m/s^2, magnitude of gravity
    least_tilt: float = float(np.deg2rad(0.3))  # rad: bases are level within it
    no_gravity: float = 0.2  # of gravity: less counts as none, compensated elsewhere
    reach: float = 0.25  # m: of a centre of mass beyond the link's frames
    load_reach: float = 2.0  # m: of that of a load


class Iteration(NamedTuple):
    """Ends of the iterations."""

    rounds: int = 10  # of estimating the noise
    close: float = 0.02  # relative: noise that changes less has converged
    steps: int = 200  # of adding, exchanging and removing causes


MOTION, REPORTED, VALIDITY = RequiredMotion(), Reported(), Validity()
SMALL, PRIORS, PRICES = SmallErrors(), Priors(), Prices()
LIMITS, ITERATION = Limits(), Iteration()
CERTAIN = 3.0  # standard deviations
