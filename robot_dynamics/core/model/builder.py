# SPDX-License-Identifier: Apache-2.0
"""Builder of a RobotModel, with defaults for every optional field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robot_model import RATE_LIMITS, RobotModel


def build_tree(
    name: str,
    parent: Sequence[int],
    revolute: Sequence[bool],
    axis: Sequence[Array],
    placement: Sequence[Array],
    inertials: Sequence[Inertial],
    **others: Any,
) -> RobotModel:
    """Return the model of a tree in which every joint is its own coordinate.

    Args:
        name: the robot's name.
        parent: (nb) index of each body's parent, -1 for the base.
        revolute: (nb) True for revolute joints, False for prismatic ones.
        axis: (nb) unit vectors (3,), in the joint frames.
        placement: (nb) poses (4, 4) of the joint frames in their parents' frames.
        inertials: (nb) inertias of the bodies, in their own frames.
        **others: any other field of RobotModel. Defaults: joints joint1 ..., bodies link1 ...,
            one frame per body with its name, no limits, no friction.

    Raises:
        ModelError: the shapes are inconsistent, or a value is not physical.
    """
    nb = len(parent)
    joint_names = others.pop('joint_names', tuple(f'joint{i + 1}' for i in range(nb)))
    body_names = others.pop('body_names', tuple(f'link{i + 1}' for i in range(nb)))
    return RobotModel(
        name=name,
        joint_names=joint_names,
        body_names=body_names,
        parent=np.array(parent),
        revolute=np.array(revolute),
        axis=np.array(axis),
        placement=np.array(placement),
        mass=np.array([body.mass for body in inertials]),
        com=np.array([body.com for body in inertials]),
        inertia_com=np.array([body.inertia_com for body in inertials]),
        **{**_defaults(nb, len(joint_names), body_names), **others},
    )


def _defaults(nb: int, n: int, body_names: Sequence[str]) -> dict[str, Any]:
    """Return the optional fields: joints without limits and friction, and the bodies' frames."""
    return {
        'S': np.eye(nb),
        's0': np.zeros(nb),
        'lower': np.full(n, -np.inf),
        'upper': np.full(n, np.inf),
        **{name: np.full(n, np.inf) for name in RATE_LIMITS},
        'effort_limit': np.full(n, np.inf),
        'viscous': np.zeros(n),
        'coulomb': np.zeros(n),
        'reflected_inertia': np.zeros(n),
        'link_names': ('base', *body_names),
        'frame_names': ('base', *body_names),
        'frame_body': np.arange(-1, nb),
        'frame_placement': np.tile(np.eye(4), (nb + 1, 1, 1)),
    }
