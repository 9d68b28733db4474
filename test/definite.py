# SPDX-License-Identifier: Apache-2.0
"""Inertias of bodies that extend in all directions."""

import numpy as np

from robot_dynamics.core.model.inertia import second_moment


def is_definite(body):
    """Return whether the pseudo-inertia of a body is positive definite.

    About the centre of mass it is diag(Sigma, m).
    """
    moments = np.linalg.eigvalsh(second_moment(body.inertia_com))
    return body.mass > 0 and moments[0] > 1e-12 * moments[-1]
