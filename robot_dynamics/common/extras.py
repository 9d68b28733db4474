# SPDX-License-Identifier: Apache-2.0
"""Packages of the extras of setup.py, and the error that names the line which installs one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robot_dynamics.common.errors import RobotDynamicsError

# What pip installs for an extra where there is no checkout.
PACKAGES = {
    'bags': 'rosbags',
    'check': 'trimesh pycollada',
    'cluster': 'distributed',
    'cuda': 'nvidia-cuda-nvrtc-cu12',
    'demo': 'matplotlib rich',
    'derive': 'sympy',
    'identify': 'cvxpy clarabel threadpoolctl',
    'jax': 'jax',
    'lerobot': 'pyarrow',
    'mujoco': 'mujoco',
    'sim': 'mujoco',  # the engine with a wheel for every platform
    'torch': 'torch',
    'view': "'viser>=1.1,<1.2' websockets rich trimesh pycollada",
}


class ExtraMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names the condition)
    """A package of an extra cannot be imported."""


def install_line(extra: str) -> str:
    """Return what a user types to install an extra."""
    return f"pip install {PACKAGES[extra]}, or in a checkout pip install '.[{extra}]'"


@contextmanager
def needed(
    extra: str, what: str, raised: type[RobotDynamicsError] = ExtraMissing
) -> Iterator[None]:
    """Import the packages of an extra inside this context.

    Args:
        extra: its name in setup.py.
        what: the beginning of the message, such as 'figures need matplotlib'.
        raised: the error in place of ImportError; its message ends with the line to type.
    """
    try:
        yield
    except ImportError as error:
        raise raised(
            f'{what}, which cannot be imported ({error}): {install_line(extra)}'
        ) from error
