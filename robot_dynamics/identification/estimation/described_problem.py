# SPDX-License-Identifier: Apache-2.0
"""Problem of a fit that starts at the description.

Torques of the description show the signs of the drive gains, and efforts that are not in N m or N.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.laws import LAWS, PRESLIDING
from robot_dynamics.identification.estimation.equations import Estimate, Problem
from robot_dynamics.identification.estimation.excitation_check import excited_joints
from robot_dynamics.identification.estimation.inputs import Inputs
from robot_dynamics.identification.estimation.parameter_fit import (
    coefficient,
    gains_of,
    scales_beside_drives,
)
from robot_dynamics.identification.estimation.prepared_rows import PreparedRows, together
from robot_dynamics.identification.estimation.pseudo_inertia import bodies
from robot_dynamics.recordings.recording import RecordingError

CERTAIN_SIGN = 3.0  # standard deviations of dry friction
OPPOSITE = 0.3  # least size of a factor between torques of opposite sign
OTHER_SCALE = 1.4  # factor of efforts to the torques described: larger than errors of masses
SCALE_CERTAIN = 0.1  # relative error of a factor that counts as known


def described_problem(inputs: Inputs, rows: PreparedRows) -> Problem:
    """Return the problem of the first rows, with the description and the default friction law."""
    model, rotors = inputs.arm.model, inputs.efforts != 'link-side'
    theta, n = model.inertial_parameters(), model.n
    described = Estimate(
        theta=theta,
        X=np.tile(np.eye(4), (model.nb, 1, 1)),
        friction=np.column_stack([model.viscous, model.coulomb]),
        offset=np.zeros((rows.number, n)),
        rotor=model.reflected_inertia * rotors,
        gain=np.ones(n),
        load=np.zeros(10) if rows.load is None else rows.load.value,
    )
    kept = np.zeros((model.nb, 10)) if inputs.kept is None else inputs.kept
    return Problem(
        recordings=rows.first,
        law=LAWS['coulomb'],
        presliding=np.full(n, PRESLIDING),
        scaled=bodies(theta.reshape(-1, 10), kept),
        start=described,
        excited=excited_joints(together([one.independent() for one in rows.first])),
        rotors=rotors,
        unknown=inputs.unknown,
        load=rows.load,
    )


def signs_of_gains(problem: Problem) -> Array:
    """Return the signs (n,) of the drive gains: those of dry friction, which opposes the motion.

    Raises:
        RecordingError: torques have the opposite sign of those of the description.
    """
    terms = problem.terms(problem.start)
    _, gain = gains_of(terms, problem.start, problem.excited)
    if not problem.gains:
        if (gain[terms.effort.any(axis=0)] < -OPPOSITE).all():
            raise RecordingError(
                'the efforts have the opposite sign of the torques of the description; expected '
                'the same: --effort-scale -1'
            )
        return np.ones(len(gain))
    sign = np.where((gain < 0) & problem.unknown, -1.0, 1.0)
    dry = problem.law.terms.index('coulomb')
    for j in np.flatnonzero(problem.excited & problem.unknown):
        others = [terms.Y[:, j], np.delete(terms.features[:, j], dry, axis=1)]
        others += [terms.qdd[:, j, None], terms.of_recordings()]
        value, error = coefficient(
            terms.features[:, j, dry], np.column_stack(others), terms.effort[:, j], terms.block
        )
        if abs(value) > CERTAIN_SIGN * error:
            sign[j] = np.sign(value)
    return sign


def other_scales(problem: Problem, names: Sequence[str]) -> list[str]:
    """Return a remark on joints whose efforts are not the torques of the description, by a factor.

    Wrong masses would explain them as well; the fit takes them for that.
    """
    if problem.gains:
        return []
    factor, error = scales_beside_drives(
        problem.terms(problem.start), problem.start, problem.excited
    )
    certain = (error < SCALE_CERTAIN * np.abs(factor)) & (factor > 0)
    size = np.abs(np.log(np.where(certain, factor, 1.0)))
    other = np.flatnonzero(size > np.log(OTHER_SCALE))
    if not len(other):
        return []
    said = ', '.join(f'{names[j]} {measured(factor[j], error[j])}' for j in other.tolist())
    return [
        f'efforts relative to the torques of the description: {said}; the model takes this for '
        'masses: check the scale of each joint (--effort-scale), and the masses of the links'
    ]
