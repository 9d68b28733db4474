# SPDX-License-Identifier: Apache-2.0
"""Least squares on the base parameters, with standard errors.

The base parameters are the combinations of inertial parameters, and of rotor inertias where
efforts include them, that torques determine. Friction and offsets are fitted along with them.

Source: Gautier, "Numerical calculation of the base inertial parameters of robots", J. Robotic
Systems 8(4), 1991; Khalil and Dombre, Modeling, Identification and Control of Robots (2002),
section 12.3 (standard errors, condition number of the scaled regressor).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.estimation.base_parameters import (
    BaseParameters,
    base_parameters,
)
from robot_dynamics.identification.estimation.covariance import INEXACT
from robot_dynamics.identification.estimation.parameter_fit import RANK, Fit
from robot_dynamics.identification.estimation.pseudo_inertia import PRIOR, description_curvature

PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
SHOWN = 1e-6  # least coefficient of a combination that is named
DETERMINED = 0.2  # of the standard deviation by the description alone: the motion excites it
PREDICTED = 0.1  # of the deviation of an effort: a smaller error of a parameter predicts it


class BaseEstimate(NamedTuple):
    """Base parameters of a recording; arrays (b,) but for grouping.

    Attributes:
        names: of the parameter that each is named after.
        grouping: (b, p) coefficients of all parameters in each.
        value: of unconstrained least squares.
        error: standard deviation; inf if the motion does not excite it.
        prior: of the description.
        prior_error: its standard deviation as the fit weights it.
        physical: of the physically consistent fit.
        effect: largest change of a joint's effort by the standard error, relative to the standard
            deviation of the effort; inf if the motion does not excite the parameter.
        condition: of the regressor with columns of unit length.
    """

    names: tuple[str, ...]
    all_names: tuple[str, ...]
    grouping: Array
    value: Array
    error: Array
    prior: Array
    prior_error: Array
    physical: Array
    effect: Array
    condition: float

    @property
    def determined(self) -> Array:
        """(b,) bool: the efforts of such motion are predicted in spite of its error."""
        return np.asarray(self.effect < PREDICTED)

    @property
    def surpasses(self) -> Array:
        """(b,) bool: the recording tells more than the description of this parameter alone."""
        return np.asarray(self.error < DETERMINED * self.prior_error)

    def combination(self, k: int) -> dict[str, float]:
        """Return the coefficients of a base parameter, by name."""
        return {
            name: float(coefficient)
            for name, coefficient in zip(self.all_names, self.grouping[k], strict=True)
            if abs(coefficient) > SHOWN
        }


def base_estimate(arm: Dynamics, fit: Fit) -> BaseEstimate:
    """Return the base parameters of a fit: with its weights, features and gains."""
    problem, x = fit.problem, fit.estimate
    base = base_parameters(arm, np.random.default_rng(0), rotors=problem.rotors)
    equations = [_base_equations(fit, base, j) for j in range(arm.model.n)]
    rows, right = zip(*equations, strict=True)
    inexact = INEXACT * ~problem.unknown
    value, error, condition = _least_squares(rows, right, fit.spread, inexact)
    grouping = base.grouping
    number = grouping.shape[1]
    described = np.concatenate([problem.start.theta, problem.start.rotor])
    fitted = np.concatenate([x.theta, x.rotor / x.gain])
    names = parameter_names(arm.model)[:number]
    return BaseEstimate(
        names=tuple(names[k] for k in base.columns),
        all_names=names,
        grouping=grouping,
        value=value,
        error=error,
        prior=grouping @ described[:number],
        prior_error=_prior_error(arm, fit, grouping),
        physical=grouping @ fitted[:number],
        effect=_effects(fit, base, error),
        condition=condition,
    )


def _base_columns(fit: Fit, base: BaseParameters, j: int) -> Array:
    """Return the columns (K, b) of the effort of joint j by the base parameters."""
    terms, x = fit.terms, fit.estimate
    rotors = np.zeros((len(terms.Y), len(x.gain)))
    rotors[:, j] = x.gain[j] * terms.qdd[:, j] * fit.problem.excited[j]
    return np.column_stack([x.gain[j] * terms.Y[:, j], rotors])[:, base.columns]


def _effects(fit: Fit, base: BaseParameters, error: Array) -> Array:
    """Return the largest change (b,) of an effort by errors (b,), relative to its deviation.

    Offsets take up constant efforts.
    """
    effort = fit.terms.effort
    change = np.zeros(len(error))
    for j in np.flatnonzero(effort.std(axis=0) > 0).tolist():
        of_unit = _base_columns(fit, base, j).std(axis=0)
        seen = of_unit > RANK * effort[:, j].std()
        change[seen] = np.maximum(change[seen], error[seen] * of_unit[seen] / effort[:, j].std())
    return np.asarray(np.where(np.isfinite(error), change, np.inf))


def _base_equations(fit: Fit, base: BaseParameters, j: int) -> tuple[Array, Array]:
    """Return the weighted equations of joint j by the base parameters: columns, right-hand side.

    They are orthogonal to what friction and offset explain, and compressed by QR.
    """
    problem, terms, x = fit.problem, fit.terms, fit.estimate
    inertial = _base_columns(fit, base, j)
    others = terms.of_recordings()
    if problem.excited[j]:
        others = np.column_stack([others, terms.features[:, j]])
    w = fit.weight[:, j, None]
    Q = np.linalg.qr(w * others)[0]
    effort = terms.effort[:, j] - x.gain[j] * terms.load[:, j] @ x.load
    both = w * np.column_stack([inertial, effort])
    both = both - Q @ (Q.T @ both)
    R = np.asarray(np.linalg.qr(both, mode='r'))
    return R[:, :-1], R[:, -1]


def _least_squares(
    A: Sequence[Array], b: Sequence[Array], spread: Array, inexact: Array
) -> tuple[Array, Array, float]:
    """Return the solution, standard deviations and the condition number of the scaled matrix.

    Args:
        A: columns of the rows of each joint.
        b: their right-hand sides.
        spread: (n,) variance of a row of each joint, times the rows that count as one.
        inexact: (n,) relative standard deviation of the scale of each joint's right-hand side.
    """
    every = np.concatenate(A)
    size = np.linalg.norm(every, axis=0)
    seen = size > 0
    U, sigma, Vt = np.linalg.svd(every[:, seen] / size[seen], full_matrices=False)
    kept = sigma > RANK * sigma[0]
    inverse = (Vt[kept].T / sigma[kept]) @ U[:, kept].T / size[seen, None]
    # What each joint contributes changes with its scale.
    parts = np.split(inverse, np.cumsum([len(rows) for rows in A])[:-1], axis=1)
    by_joint = np.array([part @ of_joint for part, of_joint in zip(parts, b, strict=True)])
    noise = [own * (part**2).sum(axis=1) for part, own in zip(parts, spread, strict=True)]
    variance = np.sum(noise, axis=0) + inexact**2 @ by_joint**2
    value, error = np.zeros(every.shape[1]), np.full(every.shape[1], np.inf)
    value[seen] = by_joint.sum(axis=0)
    # Parameters with a part in directions that no row sees are not determined.
    blind = (Vt[~kept] ** 2).sum(axis=0) > 1e-6
    error[seen] = np.where(blind, np.inf, np.sqrt(variance))
    return value, error, float(sigma[0] / max(sigma[-1], 1e-300))


def _prior_error(arm: Dynamics, fit: Fit, grouping: Array) -> Array:
    """Return the standard deviation (b,) by the description alone.

    That of a rotor inertia is the inertia that the arm has at its joint.
    """
    scaled = fit.problem.scaled
    blocks = (
        scaled.maps @ np.linalg.inv(description_curvature(PRIOR)) @ np.swapaxes(scaled.maps, 1, 2)
    )
    inertial, rotor = np.split(grouping, [10 * scaled.nb], axis=1)
    parts = inertial.reshape(len(grouping), scaled.nb, 10)
    variance = np.einsum('kbi,bij,kbj->k', parts, blocks, parts)
    at_joint = arm.mass_matrix(np.zeros(arm.model.n)).diagonal()[: rotor.shape[1]]
    return np.asarray(np.sqrt(variance + (rotor**2) @ at_joint**2))


def parameter_names(model: RobotModel) -> tuple[str, ...]:
    """Return the names of the inertial parameters and, after them, of the rotor inertias."""
    inertial = [f'{body}.{name}' for body in model.body_names for name in PARAMETERS]
    return (*inertial, *(f'{joint}.rotor_inertia' for joint in model.joint_names))
