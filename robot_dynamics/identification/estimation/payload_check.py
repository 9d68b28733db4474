# SPDX-License-Identifier: Apache-2.0
"""Whether a recording shows the payload that is given for it.

A fit with an unknown payload compares: its centre of mass does not depend on the scale of the
efforts. Its mass does; the described masses set that scale where the gain of no drive is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.estimation.covariance import covariance_of
from robot_dynamics.identification.estimation.equations import Problem, split
from robot_dynamics.identification.estimation.identification_records import PayloadRecording
from robot_dynamics.identification.estimation.inputs import extent_of
from robot_dynamics.identification.estimation.parameter_fit import fit, scales_beside_drives

CERTAIN = 4.0  # standard errors
CENTRE = 0.005  # m: a smaller error of the centre of mass changes scales by 1 to 2 %
LEAST = 0.05  # of the given mass: less is no payload
MASS_DIFFERS = 0.08  # relative: masses of CAD models have such errors
UNKNOWN_MASS = 3.0  # standard deviation of the payload's mass, relative to the one given


class ShownPayload(NamedTuple):
    """Payload that a recording shows.

    Attributes:
        mass: kg, at the scale of the known gains or of the described masses.
        mass_error: its standard deviation at that scale.
        com: (3,) m, in the frame of the link.
        com_error: (3,) standard deviations.
        of_description: the described masses set the scale.
    """

    mass: float
    mass_error: float
    com: Array
    com_error: Array
    of_description: bool


def shown_payload(problem: Problem, payload: PayloadRecording) -> ShownPayload:
    """Return the payload that the rows of a problem with a load show.

    Args:
        problem: with the friction law, fitted to recordings with and without the payload.
        payload: as it is given.
    """
    load, of_description = problem.load, bool(problem.unknown.all())
    if load is None:
        raise ValueError('the problem has no load; expected the recording with the payload')
    deviation = np.concatenate([[UNKNOWN_MASS * payload.mass], extent_of(payload.mass)[1:]])
    # Steps from the payload given end elsewhere if the recording has another.
    start = replace(problem.start, load=np.zeros(10))
    free = replace(problem, load=load._replace(deviation=deviation), start=start)
    if of_description:
        free = _with_described_scale(free)
    found = fit(free)
    x, weights = found.estimate, (found.weight, found.spread)
    covariance, _ = covariance_of(free, found.terms, *weights, x)
    at = split(free, np.arange(len(covariance))).load[:4]
    m, h = float(x.load[0]), x.load[1:4]
    # c = h / m:   dc = dh / m - h dm / m^2
    change = np.column_stack([-h / m**2, np.eye(3) / m])
    variance = (change @ covariance[np.ix_(at, at)] @ change.T).diagonal()
    errors = float(found.error.load[0]), np.sqrt(np.maximum(variance, 0.0))
    return ShownPayload(m, errors[0], h / m, errors[1], of_description)


def _with_described_scale(problem: Problem) -> Problem:
    """Return the problem with the gain of the joint that the described masses show best."""
    unloaded = [one for one in problem.recordings if not one.loaded]
    terms = problem.terms(problem.start, unloaded)
    factor, error = scales_beside_drives(terms, problem.start, problem.excited)
    certainty = np.where(factor > 0, factor / np.maximum(error, 1e-300), 0.0)
    if not certainty.any():
        return problem
    best = np.arange(len(factor)) == np.argmax(certainty)
    start = replace(problem.start, gain=np.where(best, factor, problem.start.gain))
    return replace(problem, start=start, unknown=problem.unknown & ~best)


def contradiction(shown: ShownPayload, payload: PayloadRecording) -> str:
    """Return how a recording contradicts the payload given for it; '' if it does not."""
    mass = f'{measured(shown.mass, shown.mass_error)} kg'
    given = f'{payload.mass:g} kg on {payload.link}'
    least = max(CERTAIN * shown.mass_error, LEAST * payload.mass)
    if shown.mass < -least:
        return (
            f'the recording with the payload shows a negative one, {mass}; expected {given}: are '
            'the recordings with and without it interchanged?'
        )
    if shown.mass < least:
        return (
            f'the recording with the payload shows no payload: {mass}; expected {given} in it, '
            'and none in the recordings that are fitted'
        )
    if payload.com is None:
        return ''
    off = np.abs(shown.com - np.asarray(payload.com, dtype=float))
    if (off <= np.maximum(CERTAIN * shown.com_error, CENTRE)).all():
        return ''
    centre, errors = (_point(x) for x in (shown.com, shown.com_error))
    return (
        f'the recording with the payload does not agree with a payload of {payload.mass:g} kg at '
        f'{_point(payload.com)} m of {payload.link}: it shows the centre of mass at {centre} ± '
        f'{errors} m; expected the right mass and centre; leave out the centre and it is estimated'
    )


def remark(shown: ShownPayload, payload: PayloadRecording) -> list[str]:
    """Return a remark on a payload whose mass differs from that by the described masses."""
    ratio = shown.mass / payload.mass
    if not shown.of_description or abs(np.log(ratio)) < np.log(1 + MASS_DIFFERS):
        return []
    return [
        f'by the masses of the description the payload is {shown.mass:.3g} kg, and '
        f'{payload.mass:g} kg was given: check it, and the masses of the links'
    ]


def _point(values: object) -> str:
    rounded = np.round(np.asarray(values, dtype=float), 4) + 0.0  # no -0
    return f'({", ".join(f"{x:.4f}" for x in rounded)})'
