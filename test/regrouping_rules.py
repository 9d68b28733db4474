# SPDX-License-Identifier: Apache-2.0
"""Base parameters by rules: a reference that is independent of the regressor.

Per joint: the changes of a body's parameters that no torque shows if the opposite change is made
to its parent.

Source: Wensing, Niemeyer and Slotine, "A geometric characterization of observability in inertial
parameter identification", Int. J. Robotics Research 43(14), 2024. It contains the rules of
Gautier and Khalil (three parameters regroup over a revolute joint, six over a prismatic one) for
joints far from the base.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array, adjoint, inverse_pose, lie_bracket, skew
from robot_dynamics.core.model.joints import motion_subspace
from robot_dynamics.core.model.robot_model import RobotModel

RANK_TOLERANCE = 1e-9  # relative: singular values below it are rounding


def regrouping_rules(model: RobotModel) -> Array:
    """Return a basis (k, 10 nb) of the changes of pi that have no effect on torques.

    Each row changes the parameters of one body, and those of its parent by the opposite, in the
    parent's frame. With v the body's twist, the joint screw s, and v_p the parent's twist
    transformed by E(q) = exp(-[ad_s] q),

        v = E(q) v_p + s qd,     and kinetic energy is  v^T dI v / 2.

    A change dI can move to the parent if the motion of the joint does not affect the energy: if
    s^T dI s = 0, if s^T dI E v_p = 0 and if (E v_p)^T dI (E v_p) does not depend on q, for all v_p
    that the previous joints can produce. The power of gravity is a^T dI v, with a = (0, g)
    transformed as twists are.

    Raises:
        ModelError: a coordinate of the robot moves several joints.
    """
    if model.n != model.nb or np.count_nonzero(model.S) != model.n:
        raise ModelError(
            f'robot {model.name!r} moves its {model.nb} joints by {model.n} coupled coordinates; '
            'the rules hold for independent joints: use base_parameters'
        )
    motions: list[_Attainable] = []
    changes = []
    for i in range(model.nb):
        p = int(model.parent[i])
        X_ip = adjoint(inverse_pose(model.placement[i]))
        s = motion_subspace(model.axis[i], bool(model.revolute[i]))
        before = (motions[p] if p >= 0 else _at_base(model)).carried(X_ip, s)
        motions.append(before.with_joint(s))

        # Products that the joint's motion affects: all with s, and all changes with q.
        affected = np.vstack([before.of_joint(s), _rates(before.pairs, s)])
        for dpi in _null_space(affected.reshape(-1, 36) @ _INERTIAS.reshape(10, 36).T):
            change = np.zeros(10 * model.nb)
            change[10 * i : 10 * i + 10] = dpi
            if p >= 0:
                # The parent changes by -X^T dI X.
                dI = X_ip.T @ np.tensordot(dpi, _INERTIAS, axes=1) @ X_ip
                change[10 * p : 10 * p + 10] = -_parameters(dI)
            changes.append(change)
    return np.array(changes).reshape(len(changes), 10 * model.nb)


def number_by_rules(model: RobotModel) -> int:
    """Return the number of base parameters by the rules. Raises ModelError as above."""
    return 10 * model.nb - len(regrouping_rules(model))


class _Attainable(NamedTuple):
    """Attainable motion of a body, as spans of twists, gravity vectors and their products.

    pairs are the symmetric products v v^T of twists and a v^T + v a^T of gravity with a twist,
    from the same state; an energy or power is their product with an inertia.
    """

    twists: Array  # (k, 6)
    gravity: Array  # (l, 6)
    pairs: Array  # (m, 6, 6)

    def carried(self, X: Array, s: Array) -> _Attainable:
        """Return the span in the next body's frame, over all positions of its joint s."""
        moved = X @ self.pairs @ X.T if len(self.pairs) else self.pairs
        return _Attainable(
            _closure(self.twists @ X.T, lambda v: v @ lie_bracket(s).T),
            _closure(self.gravity @ X.T, lambda a: a @ lie_bracket(s).T),
            _closure(moved, lambda pairs: _rates(pairs, s)),
        )

    def of_joint(self, s: Array) -> Array:
        """Return the products (k, 6, 6) that the motion of joint s adds."""
        others = np.vstack([s[None], self.twists, self.gravity])
        # s v^T + v s^T
        return np.array([np.outer(s, v) + np.outer(v, s) for v in others])

    def with_joint(self, s: Array) -> _Attainable:
        """Return the span with the motion of joint s added."""
        return _Attainable(
            _span(np.vstack([self.twists, s[None]])),
            self.gravity,
            _span(np.concatenate([self.pairs, self.of_joint(s)])),
        )


def _at_base(model: RobotModel) -> _Attainable:
    g = np.concatenate([np.zeros(3), model.gravity])
    return _Attainable(np.zeros((0, 6)), _span(g[None]), np.zeros((0, 6, 6)))


def _rates(pairs: Array, s: Array) -> Array:
    """Return the derivatives of products by the position of joint s: ad_s A + A ad_s^T."""
    ad = lie_bracket(s)
    return np.asarray(ad @ pairs + pairs @ ad.T)


def _closure(vectors: Array, change: Any) -> Array:
    """Return a basis of the span of vectors and of all their repeated changes."""
    basis = _span(vectors)
    while len(larger := _span(np.concatenate([basis, change(basis)]))) > len(basis):
        basis = larger
    return basis


def _span(vectors: Array) -> Array:
    """Return an orthonormal basis of the span, of the same shape but for its length."""
    if not len(vectors):
        return vectors
    flat = vectors.reshape(len(vectors), -1)
    _, sigma, rows = np.linalg.svd(flat, full_matrices=False)
    basis = rows[sigma > RANK_TOLERANCE * max(1.0, sigma[0])]
    return np.asarray(basis.reshape(-1, *vectors.shape[1:]))


def _null_space(A: Array) -> Array:
    """Return a basis (k, 10) of the parameters x with A x = 0."""
    _, sigma, rows = np.linalg.svd(A)
    return np.asarray(rows[int((sigma > RANK_TOLERANCE * max(1.0, sigma[0])).sum()) :])


def _parameters(I: Array) -> Array:
    """Return the ten parameters of a spatial inertia (6, 6)."""
    first_moment = np.array([I[2, 4], I[0, 5], I[1, 3]])
    return np.concatenate([[I[3, 3]], first_moment, I[:3, :3][np.triu_indices(3)]])


def _inertias() -> Array:
    """Return dI/dpi_k (10, 6, 6): I = [[I_o, [m c]], [-[m c], m 1]]."""
    result = np.zeros((10, 6, 6))
    result[0, 3:, 3:] = np.eye(3)
    for k, e in enumerate(np.eye(3)):
        result[1 + k, :3, 3:], result[1 + k, 3:, :3] = skew(e), -skew(e)
    for k, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True)):
        result[4 + k, i, j] = result[4 + k, j, i] = 1.0
    return result


_INERTIAS = _inertias()
