"""Is another engine of the same opinion? Inverse dynamics, mass matrix and gravity, compared.

    report = validate(urdf_text)
    print(report)                    # PASS: kuka against PyBullet 3.2.7, 100 states, worst ...
    sys.exit(report.exit_code)

PyBullet judges first. Where it is not installed, or holds another robot than the URDF says (it
zeroes tensors that no body can have), MuJoCo or Pinocchio judge instead, and the report says so.
Second judges are asked besides. If torques differ, the report names what would explain it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.states import States, chosen_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.comparison import TOLERANCE, Examiner
from robot_dynamics.validation.engines.available import ENGINES, title
from robot_dynamics.validation.report import Report
from robot_dynamics.validation.several_engines import Jury


def validate(
    urdf: str | bytes,
    *,
    model: RobotModel | None = None,
    states: States | int = 100,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    engines: Sequence[str] = ENGINES,
    second_judges: Sequence[str] = (),
    locked_joints: Mapping[str, float] | None = None,
    timeout: float = 60.0,
) -> Report:
    """Compare our dynamics of a robot with the first engine that can judge it.

    Args:
        urdf: the robot's URDF text.
        model: what this package makes of it, if with options; `parse_urdf(urdf)` if omitted.
        states: where to compare; a number stands for so many random states within the limits.
        seed: of the random states.
        tolerance: largest difference relative to the largest value of the quantity.
        engines: whom to ask, in this order; a subset of `engines.ENGINES`.
        second_judges: whom to ask besides, each of them.
        locked_joints: where joints stand that the model has locked.
        timeout: s, for each answer of an engine.

    Raises:
        ModelError: the URDF is refused.
        ShapeError: the states are not (k, n) each, or there is none.
        ValueError: no engine has that name.
    """
    if model is None:
        model = parse_urdf(urdf, locked_joints=locked_joints)
    given = chosen_states(model, states, np.random.default_rng(seed))
    arm = Dynamics(model)
    for name in (*engines, *second_judges):
        title(name)

    def examiner(names: Sequence[str]) -> Examiner:
        return Examiner(
            urdf,
            arm,
            given,
            engines=names,
            tolerance=tolerance,
            locked_joints=locked_joints,
            timeout=timeout,
        )

    jury = Jury(examiner(engines), [examiner([name]) for name in second_judges])
    try:
        while jury.report is None:
            jury.work()
        return jury.report
    finally:
        jury.close()
