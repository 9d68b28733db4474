"""Moment and force as a pair, about the origin of a body's frame; and what a joint feels of it."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.joint_frame import JointFrame
from robot_dynamics.algorithms.vectors import Scalar, Vector, add, cross


class Wrench(NamedTuple):
    """Moment n [N m] about the origin of frame i and force f [N], in frame i."""

    n: Vector
    f: Vector


def total_wrench(a: Wrench, b: Wrench) -> Wrench:
    """Return the sum of two wrenches of the same frame."""
    return Wrench(add(a.n, b.n), add(a.f, b.f))


def wrench_in_parent(frame: JointFrame, wrench: Wrench) -> Wrench:
    """Return the same wrench in the parent's frame, about its origin."""
    # f_p = R f,   n_p = R n + p x R f
    f = frame.up(wrench.f)
    return Wrench(add(frame.up(wrench.n), cross(frame.p, f)), f)


def along_joint(revolute: bool, wrench: Wrench) -> Scalar:
    """Return the component that the joint has to supply: z . n, or z . f if it slides."""
    return wrench.n[2] if revolute else wrench.f[2]
