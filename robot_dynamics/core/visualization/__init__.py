# SPDX-License-Identifier: Apache-2.0
"""Geometry that shows the dynamics of a robot: `marker_shapes`; its pictures: `robot_figure`."""

from robot_dynamics.core.visualization.marker_shapes import (
    Arrow,
    Box,
    Ellipsoid,
    inertia_box,
    inertia_ellipsoid,
    joint_torque_arrows,
    manipulability_ellipsoid,
    tip_inertia_ellipsoid,
    weight_arrows,
)
from robot_dynamics.core.visualization.robot_figure import plot_robot

__all__ = [
    'Arrow',
    'Box',
    'Ellipsoid',
    'inertia_box',
    'inertia_ellipsoid',
    'joint_torque_arrows',
    'manipulability_ellipsoid',
    'plot_robot',
    'tip_inertia_ellipsoid',
    'weight_arrows',
]
