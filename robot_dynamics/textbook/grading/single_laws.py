# SPDX-License-Identifier: Apache-2.0
"""Laws of one function: its dependence on its arguments, symmetry and definiteness of M."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.textbook.grading.functions import Function
from robot_dynamics.textbook.grading.graded_terms import Source, evaluate, gradient
from robot_dynamics.textbook.grading.grading_causes import ENTRIES
from robot_dynamics.textbook.grading.grading_examination import EPS, Examination, Sample, largest

SLOW_STATES = 2  # for laws with derivatives by every coordinate


def check_alone(e: Examination) -> None:
    """Check the laws of single functions."""
    for name, f in e.functions.items():
        _check_repetition(e, name, f)
        if name in ALONE:
            ALONE[name](e, f)
    for source in e.sources:
        if source.term in ('M', 'Lambda') and not e.is_wrong(source):
            _check_matrix(e, source)


def _check_repetition(e: Examination, name: str, f: Function) -> None:
    """Equal arguments, equal results; in another order of the calls."""
    arguments = [f.arguments_of(row) for row in e.rows]
    first = [f(*values) for values in arguments]
    again = [f(*values) for values in reversed(arguments)][::-1]
    shown = len(arguments[0]) + (name == 'friction_torque')  # of qd alone
    samples = [Sample(b, a, *x[:shown]) for a, b, x in zip(first, again, e.rows, strict=True)]
    finding = e.check('function_of_the_state', [name], samples, largest(first))
    if finding is not None:
        e.keep(finding, 'the result depends on earlier calls, or on random numbers')
    elif f.changed is not None:
        text = f'the function overwrites its argument {f.changed}; let it work on a copy'
        e.fail('function_of_the_state', name, text)


# -- dependence on accelerations, torques and velocities ------------------------------------------


def _check_affine(e: Examination, f: Function, law: str) -> None:
    """Superposition in the last argument; its factor at two velocities; h quadratic."""
    name, zero = f.name, np.zeros(e.n)
    sums, rests, moving = [], [], []
    for k, (q, qd, a) in enumerate(e.rows):
        b = e.states.qdd[k - 1]
        rest = f(q, qd, zero)
        expected = 2 * f(q, qd, a) - f(q, qd, b) - rest
        sums.append(Sample(f(q, qd, 2 * a - b) - rest, expected, q, qd, a))
        moving.append(f(q, qd, a) - rest)
        rests.append(Sample(moving[-1], f(q, zero, a) - f(q, zero, zero), q, qd, a))
    scale = largest(moving)
    affine = e.check(law, [name], sums, scale)
    inertia = None
    if affine is not None:
        e.keep(affine, _degree_in_last(e, f, e.tolerance * scale))
    else:
        inertia = e.check('inertia_of_position', [name], rests, scale)
    if inertia is not None:
        last = 'accelerations' if law == 'affine_in_acceleration' else 'torques'
        e.keep(inertia, f'the factor of the {last} changes with qd')
    if affine is not None or inertia is not None:
        e.wrong.add((name, 'M'))
    _check_quadratic(e, name, lambda q, qd: f(q, qd, zero) - f(q, zero, zero))


def _degree_in_last(e: Examination, f: Function, small: float) -> str | None:
    """Return the degree of a function in its last argument, if it is 2 or 3."""
    zero = np.zeros(e.n)
    power = _degree(
        lambda s: [f(q, v, s * a) - f(q, v, zero) for q, v, a in e.rows], (2, 3), small
    )
    return None if power is None else f'it is of degree {power} in its last argument, not 1'


def _degree(
    f: Callable[[float], list[Array]], powers: tuple[int, ...], small: float
) -> int | None:
    """Return the power p of f(2) = 2^p f(1), None if it is none of these."""
    once, twice = np.array(f(1.0)), np.array(f(2.0))
    return next((p for p in powers if np.abs(twice - 2.0**p * once).max() <= small), None)


def _quadratic_form(e: Examination, f: Callable[[Array, Array], Array]) -> list[Sample]:
    """Return samples of f(a + b) + f(a - b) = 2 f(a) + 2 f(b) and f(-a) = f(a)."""
    samples = []
    for k, (q, a, _) in enumerate(e.rows):
        b = e.states.qd[k - 1]
        samples.append(Sample(f(q, a + b) + f(q, a - b), 2 * f(q, a) + 2 * f(q, b), q, a))
        samples.append(Sample(f(q, -a), f(q, a), q, -a))
    return samples


def _check_quadratic(e: Examination, name: str, h: Callable[[Array, Array], Array]) -> None:
    samples = _quadratic_form(e, h)
    finding = e.check('coriolis_quadratic', [name], samples, e.scales['h'])
    if finding is not None:
        e.wrong.add((name, 'h'))
        e.keep(finding, _degree_in_velocity(e, h))


def _degree_in_velocity(e: Examination, h: Callable[[Array, Array], Array]) -> str | None:
    """Return the cause of a torque that is not quadratic in the velocities."""
    small = e.tolerance * e.scales['h']

    def odd(s: float) -> list[Array]:
        return [(h(q, s * v) - h(q, -s * v)) / 2 for q, v, _ in e.rows]

    if np.abs(odd(1.0)).max() <= small:
        power = _degree(lambda s: [h(q, s * v) for q, v, _ in e.rows], (0, 1, 3, 4), small)
        return None if power is None else f'it is of degree {power} in qd, not 2'
    power = _degree(odd, (1, 0), small)
    if power is None:
        return None
    return (
        f'it contains a term of degree {power} in qd, which changes its sign with qd: '
        f'{"viscous" if power else "dry"} friction? The equation of motion is without friction'
    )


def _check_linear(e: Examination, C: Function) -> None:
    """C(q, qd) linear in qd."""
    samples = []
    for k, (q, qd, _) in enumerate(e.rows):
        other = e.states.qd[k - 1]
        samples.append(Sample(C(q, qd - 2 * other), C(q, qd) - 2 * C(q, other), q, qd))
    size = max(float(np.abs(C(q, qd)).max()) for q, qd, _ in e.rows)
    # A C that is zero but for rounding is linear.
    scale = max(size, e.tolerance * e.scales['h'])
    finding = e.check('coriolis_quadratic', ['coriolis_matrix'], samples, scale)
    if finding is not None:
        e.wrong.add(('coriolis_matrix', 'h'))
        texts = {0: 'C does not depend on qd', 2: 'C is quadratic in qd, not linear'}
        small = e.tolerance * scale
        power = _degree(lambda s: [C(q, s * v) for q, v, _ in e.rows], (0, 2), small)
        e.keep(finding, None if power is None else texts[power])


def _check_energy(e: Examination, K: Function) -> None:
    """K(q, qd) a quadratic form of qd."""
    samples = _quadratic_form(e, K)
    scale = largest(s.expected for s in samples)
    finding = e.check('kinetic_energy_quadratic', ['kinetic_energy'], samples, scale)
    if finding is not None:
        e.wrong.add(('kinetic_energy', 'M'))
        e.keep(finding, None)


def _check_momentum(e: Examination, p: Function) -> None:
    """p(q, qd) = sum of p(q, e_k) qd_k."""
    samples = []
    for q, qd, _ in e.rows:
        columns = np.stack([p(q, unit) for unit in np.eye(e.n)], axis=1)
        samples.append(Sample(p(q, qd), columns @ qd, q, qd))
    finding = e.check('momentum', [p.name], samples, largest(s.expected for s in samples))
    if finding is not None:
        e.wrong.add((p.name, 'M'))
        e.keep(finding, None)


def _check_hamiltonian(e: Examination, H: Function) -> None:
    """H(q, p) - H(q, 0) a quadratic form of p."""
    zero = np.zeros(e.n)
    samples = _quadratic_form(e, lambda q, p: np.asarray(H(q, p) - H(q, zero)))
    scale = largest([*(s.expected for s in samples), *(H(q, zero) for q, _, _ in e.rows)])
    finding = e.check('hamiltonian', [H.name], samples, scale)
    if finding is not None:
        e.wrong.add((H.name, 'M'))
        e.keep(finding, None)


def _check_friction(e: Examination, F: Function) -> None:
    """Friction of the opposite sign drives the joints."""
    powers = [(np.minimum(qd * F(qd), 0.0), qd * F(qd), q, qd) for q, qd, _ in e.rows]
    samples = [Sample(driving, np.zeros(e.n), q, qd) for driving, _, q, qd in powers]
    scale = largest(power for _, power, _, _ in powers)
    finding = e.check('friction_dissipates', [F.name], samples, scale)
    if finding is not None:
        everywhere = all((power <= 0).all() for _, power, _, _ in powers)
        e.wrong.add((F.name, 'F'))
        e.keep(finding, 'the opposite sign' if everywhere else None)


def _check_curl(e: Examination, g: Function) -> None:
    """dg_i/dq_j = dg_j/dq_i."""
    samples = []
    for q, _, _ in e.rows[:SLOW_STATES]:
        slope = gradient(g, q)
        samples.append(Sample(slope, slope.T, q))
    finding = e.check('gravity_is_a_gradient', ['gravity_torque'], samples, e.scales['g'])
    if finding is not None:
        text = 'dg_i/dq_j and dg_j/dq_i differ, so that g is the gradient of no potential energy'
        e.keep(finding, text)


# The laws of each function.
ALONE: dict[str, Callable[[Examination, Function], None]] = {
    'inverse_dynamics': partial(_check_affine, law='affine_in_acceleration'),
    'forward_dynamics': partial(_check_affine, law='affine_in_torque'),
    'coriolis_matrix': _check_linear,
    'coriolis_torque': lambda e, f: _check_quadratic(e, f.name, f),
    'kinetic_energy': _check_energy,
    'gravity_torque': _check_curl,
    'generalized_momentum': _check_momentum,
    'hamiltonian': _check_hamiltonian,
    'friction_torque': _check_friction,
}


# -- the inertia matrix ---------------------------------------------------------------------------


def _check_matrix(e: Examination, source: Source) -> None:
    values = e.values(source)
    samples = [Sample(M, M.T, q) for M, (q, _, _) in zip(values, e.rows, strict=True)]
    scale, tolerance = largest(values), e.tolerance_of(source)
    finding = e.check('mass_matrix_symmetry', [source.function], samples, scale, tolerance)
    if finding is not None:
        e.keep(finding, _asymmetry(e, source.term, values, tolerance * scale))
        e.wrong |= {(source.function, 'Lambda')} & {(source.function, source.term)}
    elif _reference_is_regular(e):
        _check_definiteness(e, source, values)


def _asymmetry(e: Examination, term: str, values: Array, small: float) -> str | None:
    upper, lower = (float(np.abs(f(values, k)).max()) for f, k in ((np.triu, 1), (np.tril, -1)))
    if min(upper, lower) <= small:
        return f'the {"upper" if upper <= small else "lower"} triangle is zero'
    off = values * ~np.eye(values.shape[1], dtype=bool)
    if np.abs(off + off.swapaxes(1, 2)).max() <= small:
        return 'm_ij = -m_ji: sign of one of them'
    if e.reference is None:
        return None
    right = np.array([evaluate(e.reference.terms, term, q, qd) for q, qd, _ in e.rows])
    wrong = np.argwhere(np.abs(values - right).max(axis=0) > small) + 1
    if len(wrong) == values[0].size:
        return None
    entries = ', '.join(f'{ENTRIES[term]}{"".join(map(str, entry))}' for entry in wrong.tolist())
    return f'wrong: {entries}; the other entries are right'


def _reference_is_regular(e: Examination) -> bool:
    """Return whether the M of the reference is positive definite, as far as it is known."""
    return e.reference is None or all(_smallest(e.reference.terms.M(q)) > 0 for q, _, _ in e.rows)


def _check_definiteness(e: Examination, source: Source, values: Array) -> None:
    law, smallest = 'positive_definiteness', [_smallest(M) for M in values]
    samples = [
        # The smallest eigenvalue is expected above 0.
        Sample(np.array(min(low, 0.0)), np.array(0.0), q)
        for low, (q, _, _) in zip(smallest, e.rows, strict=True)
    ]
    finding = e.check(law, [source.function], samples, largest(values), 0.0)
    if finding is not None:
        negative = all(np.linalg.eigvalsh(M)[-1] <= 0 for M in values)
        e.keep(
            finding,
            f'{source.term} is negative: a sign?'
            if negative
            else f'{source.term} has a negative eigenvalue',
        )
    elif min(smallest) == 0.0:
        e.fail(law, source.function, f'{source.term} is singular')


def _smallest(M: Array) -> float:
    """Return the smallest eigenvalue of M, 0 if it is within rounding of 0."""
    eigenvalues = np.linalg.eigvalsh(M)
    rounding = len(M) * EPS * float(np.abs(eigenvalues).max())
    return 0.0 if abs(eigenvalues[0]) <= rounding else float(eigenvalues[0])
