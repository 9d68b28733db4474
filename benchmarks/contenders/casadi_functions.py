# SPDX-License-Identifier: Apache-2.0
"""Dynamics as expressions of CasADi, from whose graph its code generator writes C.

Recursive Newton-Euler and composite rigid bodies in link frames; forward dynamics solves
M qdd = tau - h by CasADi's sparse L D L^T. Zeros of the model are structural zeros of the
expressions, ones are not multiplied by.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), tables 5.1 and 6.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from robot_dynamics.core.model.robot_model import RobotModel

ROUNDING = 1e-9  # entries of rotations this close to 0, 1 and -1 are these

Expression = Any  # casadi.SX


class Frame(NamedTuple):
    """Pose of a link's frame in that of its parent."""

    R: Expression  # (3, 3)
    p: Expression  # (3)


class Body(NamedTuple):
    """Inertia of a body about the origin of its frame."""

    m: Expression
    h: Expression  # (3) mass times centre of mass
    I: Expression  # (3, 3)


def functions(model: RobotModel, prefix: str) -> list[Any]:
    """Return inverse_dynamics, mass_matrix, gravity_torque and forward_dynamics of a robot."""
    q, qd, x = (ca.SX.sym(name, model.n) for name in ('q', 'qd', 'x'))
    frames = [_frame(model, i, q[i]) for i in range(model.nb)]
    zero = ca.SX(model.n, 1)
    M = _mass_matrix(model, frames)
    h = _inverse_dynamics(model, frames, qd, zero)
    named = {
        'inverse_dynamics': ([q, qd, x], _inverse_dynamics(model, frames, qd, x)),
        'mass_matrix': ([q], M),
        'gravity_torque': ([q], _inverse_dynamics(model, frames, zero, zero)),
        'forward_dynamics': ([q, qd, x], ca.ldl_solve(x - h, *ca.ldl(ca.sparsify(M), False))),
    }
    return [
        ca.Function(f'casadi_{prefix}_{name}', given, [ca.densify(result)])
        for name, (given, result) in named.items()
    ]


def _constant(values: Any) -> Expression:
    return ca.sparsify(ca.SX(ca.DM(np.asarray(values, dtype=float))))


def _snapped(values: Any) -> Any:
    near = np.round(values)
    return np.where(np.abs(values - near) < ROUNDING, near, values)


def _frame(model: RobotModel, i: int, q: Expression) -> Frame:
    R, p, axis = model.placement[i, :3, :3], model.placement[i, :3, 3], model.axis[i]
    fixed = _constant(_snapped(R))
    if not model.revolute[i]:
        return Frame(fixed, _constant(_snapped(p)) + ca.mtimes(fixed, _constant(axis)) * q)
    along = np.outer(axis, axis)
    # a a^T + (1 - a a^T) cos q + [a] sin q
    turned = _constant(along) + _constant(np.eye(3) - along) * ca.cos(q)
    turned += ca.skew(_constant(axis)) * ca.sin(q)
    return Frame(ca.mtimes(fixed, turned), _constant(_snapped(p)))


def _body(model: RobotModel, i: int) -> Body:
    m, c = model.mass[i], model.com[i]
    about_origin = model.inertia_com[i] + m * (c @ c * np.eye(3) - np.outer(c, c))
    return Body(ca.SX(float(m)), _constant(m * c), _constant(about_origin))


def _inverse_dynamics(
    model: RobotModel, frames: list[Frame], qd: Expression, qdd: Expression
) -> Expression:
    base = ca.SX(3, 1), ca.SX(3, 1), -_constant(model.gravity)
    motions: list[tuple[Expression, Expression, Expression]] = []
    wrenches = []
    for i, (R, p) in enumerate(frames):
        w, wd, a = base if model.parent[i] < 0 else motions[model.parent[i]]
        s, rate, more = _constant(model.axis[i]), qd[i], qdd[i]
        a = a + ca.cross(wd, p) + ca.cross(w, ca.cross(w, p))
        w, wd, a = (ca.mtimes(R.T, each) for each in (w, wd, a))
        if model.revolute[i]:
            w, wd = w + s * rate, wd + ca.cross(w, s) * rate + s * more
        else:
            a = a + 2 * ca.cross(w, s) * rate + s * more
        motions.append((w, wd, a))
        m, h, inertia = _body(model, i)
        n = ca.mtimes(inertia, wd) + ca.cross(w, ca.mtimes(inertia, w)) + ca.cross(h, a)
        f = m * a + ca.cross(wd, h) + ca.cross(w, ca.cross(w, h))
        wrenches.append((n, f))
    tau = [ca.SX(0)] * model.nb
    for i in reversed(range(model.nb)):
        (n, f), (R, p), parent = wrenches[i], frames[i], model.parent[i]
        along = ca.dot(_constant(model.axis[i]), n if model.revolute[i] else f)
        tau[i] = along + model.reflected_inertia[i] * qdd[i]
        if parent >= 0:
            f_p, (n_0, f_0) = ca.mtimes(R, f), wrenches[parent]
            wrenches[parent] = n_0 + ca.mtimes(R, n) + ca.cross(p, f_p), f_0 + f_p
    return ca.vertcat(*tau)


def _mass_matrix(model: RobotModel, frames: list[Frame]) -> Expression:
    bodies = [_body(model, i) for i in range(model.nb)]
    M = ca.SX(model.n, model.n)
    for i in reversed(range(model.nb)):
        (m, h, inertia), (R, p), s = bodies[i], frames[i], _constant(model.axis[i])
        if model.revolute[i]:
            n, f = ca.mtimes(inertia, s), ca.cross(s, h)
        else:
            n, f = ca.cross(h, s), m * s
        j = i
        while True:
            along = ca.dot(_constant(model.axis[j]), n if model.revolute[j] else f)
            M[i, j] = M[j, i] = along + (model.reflected_inertia[i] if i == j else 0.0)
            if model.parent[j] < 0:
                break
            f = ca.mtimes(frames[j].R, f)
            n, j = ca.mtimes(frames[j].R, n) + ca.cross(frames[j].p, f), model.parent[j]
        if model.parent[i] >= 0:
            other = bodies[model.parent[i]]
            turned, P = ca.mtimes(R, h), ca.skew(p)
            moved = turned + m * p
            # I_p = R I R^T - [p] [R h] - [R h + m p] [p]
            tensor = ca.mtimes([R, inertia, R.T])
            tensor -= ca.mtimes(P, ca.skew(turned)) + ca.mtimes(ca.skew(moved), P)
            bodies[model.parent[i]] = Body(other.m + m, other.h + moved, other.I + tensor)
    return M
