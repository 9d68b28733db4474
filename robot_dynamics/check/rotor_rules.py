# SPDX-License-Identifier: Apache-2.0
"""Rule of the inertia of rotors, which only MJCF files and URDF files made from them have.

Simulators are stable with larger time steps where `armature` is large. One round number for all
joints is chosen for that; r^2 J of motors and gears differs from joint to joint where efforts do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.check.description import Description
from robot_dynamics.check.findings import Fault, is_round
from robot_dynamics.core.algorithms import crba
from robot_dynamics.core.model.canonical import canonical_tree

MIN_JOINTS = 3  # fewer may have the same motor and gear


def rotor_findings(robot: Description) -> Iterator[Fault]:
    """Yield one remark or warning if the rotors of a robot are one round number."""
    model = robot.model
    if model is None:
        return
    rotors = model.reflected_inertia
    (joints,) = np.nonzero(rotors)
    values = set(rotors[joints].tolist())
    if len(joints) < MIN_JOINTS or len(values) != 1 or not is_round(min(values)):
        return
    rest = np.clip(np.zeros(model.n), model.lower, model.upper)
    share = rotors / np.diag(np.array(crba(canonical_tree(model), rest.tolist())))
    worst = int(np.argmax(share))
    efforts = model.effort_limit[joints]
    differ = np.isfinite(efforts).all() and len(set(efforts.tolist())) > 1
    yield Fault(
        'warning' if differ else 'info',
        'armature-solver',
        model.joint_names[worst],
        f'armature is {min(values):g} on all {len(joints)} joints that have one, '
        f'{100 * share[worst]:.0f} % of the inertia of this joint at rest, as solvers need it'
        + (', although efforts differ' if differ else '')
        + '; expected the rotor inertia times the square of the gear ratio of each joint',
        tag='joint',
    )
