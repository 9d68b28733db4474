# SPDX-License-Identifier: Apache-2.0
"""Torques of the control laws of this library as a header in C++, for the tests of a package."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control import Gains, Switches
from robot_dynamics.control.control_laws import LAWS
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.states import random_states

STATES = 4
# As `enum class Law` of law.hpp.
ORDER = ('feedforward', 'pd_plus', 'computed_torque', 'joint_impedance', 'gravity_only')

HEADER = """\
// SPDX-License-Identifier: Apache-2.0
// Torques of the control laws of robot_dynamics, and gains. Written with the model.
#ifndef @PACKAGE@__CASES_HPP_
#define @PACKAGE@__CASES_HPP_

#include "@package@/model.hpp"

namespace @package@
{
namespace cases
{
const Joints KP = {@kp@};
const Joints KD = {@kd@};

struct Case
{
  int law;  // feedforward, pd_plus, computed_torque, joint_impedance, gravity_only
  std::array<bool, 4> parts;  // gravity, coriolis, inertia, friction
  Joints kp, kd, q, qd, q_d, qd_d, qdd_d;
  std::array<double, 3> gravity;
  std::array<double, 10> payload;
  Joints tau;
};

const std::array<Case, @count@> CASES = {{
@cases@
}};
}  // namespace cases
}  // namespace @package@
#endif  // @PACKAGE@__CASES_HPP_
"""


def cases_header(arm: Dynamics, link: str, gains: Gains) -> str:
    """Return the header, with marks for the name of the package.

    Args:
        arm: the robot.
        link: that carries payloads.
        gains: of the robot.
    """
    rng = np.random.default_rng(0)
    rows: list[str] = []
    for q, qd, qdd in zip(*random_states(arm.model, STATES, rng), strict=True):
        for number, name in enumerate(ORDER):
            # All parts of the dynamics, or some.
            parts = Switches() if len(rows) % 2 else Switches(*(rng.random(4) < 0.5).tolist())
            rows.append(_case(arm, link, gains, (number, name, parts), (q, qd, qdd), rng))
    texts = {'kp': numbers(gains.kp), 'kd': numbers(gains.kd)}
    texts |= {'count': str(len(rows)), 'cases': ',\n'.join(rows)}
    header = HEADER
    for mark, text in texts.items():
        header = header.replace(f'@{mark}@', text)
    return header


def _case(
    arm: Dynamics,
    link: str,
    gains: Gains,
    law: tuple[int, str, Switches],
    state: tuple[Array, Array, Array],
    rng: np.random.Generator,
) -> str:
    """Return one case: gravity and payload, gains and the reference are drawn."""
    number, name, parts = law
    q, qd, qdd = state
    n, gravity = arm.model.n, rng.normal(size=3) * 6.0
    A = 0.05 * rng.normal(size=(3, 3))
    # tr(Sigma) 1 - Sigma, with a second moment Sigma
    tensor = np.trace(A @ A.T) * np.eye(3) - A @ A.T
    load = Inertial(rng.uniform(0.5, 2.0), 0.1 * rng.normal(size=3), tensor)
    other = arm.with_gravity(gravity).with_payload(link, load.mass, load.com, load.inertia_com)
    reference = Reference(*(x + 0.05 * rng.normal(size=n) for x in (q, qd, qdd)))
    kp = np.broadcast_to(gains.kp, n) * rng.uniform(0.5, 1.0, n)
    kd = np.broadcast_to(gains.kd, n) * rng.uniform(0.5, 1.0, n)
    if name == 'joint_impedance':
        kd = rng.uniform(0.3, 1.0, n)
    tau = LAWS[name](other, reference, q, qd, parts, Gains(kp, kd)).tau
    flags = ', '.join(str(bool(x)).lower() for x in astuple(parts))
    vectors = [kp, kd, q, qd, *reference, gravity, to_parameters(load), tau]
    fields = ',\n   '.join(f'{{{numbers(x)}}}' for x in vectors)
    return f'  {{{number}, {{{{{flags}}}}},\n   {fields}}}'


def numbers(values: Array) -> str:
    """Return numbers in C++, as they are."""
    return ', '.join(map(repr, np.asarray(values, float).ravel().tolist()))
