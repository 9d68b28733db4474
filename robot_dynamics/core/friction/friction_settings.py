# SPDX-License-Identifier: Apache-2.0
"""A friction law with its coefficients as settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from robot_dynamics.common.settings import EFFORT, checked, joint_setting, setting
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS, PRESLIDING, friction_law
from robot_dynamics.core.model.robot_model import RobotModel


@dataclass(frozen=True)
class FrictionSettings:
    """A friction law; one number for all joints, or one each. None: that of the model."""

    law: str = setting(
        'coulomb',
        'Law of friction: coulomb (viscous and Coulomb); load (Coulomb friction grows with the '
        'torque); stribeck (more friction at low speed); coulomb_memory, load_memory (a joint at '
        'standstill keeps its friction until it has moved by friction.presliding)',
        choices=tuple(LAWS),
    )
    viscous: ArrayLike | None = joint_setting(
        None,
        'Viscous friction',
        'N m s/rad or N s/m',
        EFFORT,
        none="the URDF's <dynamics damping>",
    )
    coulomb: ArrayLike | None = joint_setting(
        None, 'Dry friction', 'N m or N', EFFORT, none="the URDF's <dynamics friction>"
    )
    load: ArrayLike = joint_setting(
        0.0,
        'Coulomb friction per transmitted torque, of the laws load and load_memory',
        bounds=(0.0, 1.0),
    )
    stribeck: ArrayLike = joint_setting(
        0.0, 'Additional friction at low speed, of the law stribeck', 'N m or N', EFFORT
    )
    presliding: ArrayLike = joint_setting(
        PRESLIDING, 'Travel in which friction with memory reverses', 'rad or m', (1e-9, 1.0)
    )

    def of(self, model: RobotModel) -> JointFriction:
        """Return the friction of a robot.

        Raises:
            FrictionLawError: an unknown law, or a coefficient that it does not have.
            ModelError: a coefficient is out of range, or neither a number nor (n,).
        """
        law = friction_law(self.law)
        own = {
            name: getattr(model, name)
            for name in ('viscous', 'coulomb')
            if getattr(self, name) is None
        }
        given = vars(checked(replace(self, **own), model.n))
        presliding = given.pop('presliding')
        del given['law']
        kept = {name: x for name, x in given.items() if name in law.terms or x.any()}
        return JointFriction(law, kept, presliding)
