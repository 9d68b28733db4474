# SPDX-License-Identifier: Apache-2.0
"""Laws between functions, and between a function and the robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.textbook.grading.functions import Function, FunctionError
from robot_dynamics.textbook.grading.graded_laws import REFERENCE_LAWS
from robot_dynamics.textbook.grading.graded_terms import (
    Comparison,
    Source,
    Terms,
    christoffel,
    evaluate,
    momentum,
    velocity_torque,
)
from robot_dynamics.textbook.grading.grading_causes import (
    cause,
    cause_in_factors,
    wrong_entries,
)
from robot_dynamics.textbook.grading.grading_examination import Examination, Sample, largest
from robot_dynamics.textbook.grading.references import Model, Reference
from robot_dynamics.textbook.grading.single_laws import SLOW_STATES
from robot_dynamics.validation.identities import derivative, rate_in_motion


def check_against_reference(e: Examination, reference: Reference) -> None:
    """Compare every term with that of the robot."""
    for source in e.sources:
        if not e.is_wrong(source):
            _compare_with_reference(e, source, reference)
    for name in ('friction_torque', 'regressor'):
        if name in e.functions and (name, 'F') not in e.wrong:
            _compare_directly(e, e.functions[name], reference)


def _compare_directly(e: Examination, f: Function, reference: Reference) -> None:
    """Compare a function that is no term of the equation of motion."""
    if f.name not in reference.functions():
        raise FunctionError(f'{reference.text} has no {f.name}; expected a model or a URDF file')
    expected = np.array([reference.functions()[f.name](*row) for row in e.rows])
    values = np.array([f(*f.arguments_of(row)) for row in e.rows])
    scale = largest([expected])
    samples = [
        Sample(value, right, *row)
        for value, right, row in zip(values, expected, e.rows, strict=True)
    ]
    finding = e.check(f'robot_{f.name}', [f.name], samples, scale)
    if finding is None:
        return
    wrong = np.abs(values - expected).max(axis=0) > e.tolerance * scale
    if f.name == 'regressor':
        columns = [str(k + 1) for k in np.flatnonzero(wrong.any(axis=0))]
        many = len(columns) > 1
        text: str | None = (
            f'column{"s" * many} {", ".join(columns)} of Y {"are" if many else "is"} wrong'
        )
    else:
        small = 10 * e.tolerance * scale
        seen = Comparison('F', e.states.q, e.states.qd, values, expected, small)
        text = cause_in_factors(seen)
    e.keep(replace(finding, source=f'{reference.text}, {reference.source}'), text)


def check_together(e: Examination) -> None:
    """Check the laws between the functions."""
    for term in ('M', 'h', 'g'):
        found = [s for s in e.sources if s.term == term]
        for other in found[1:]:
            _compare(e, found[0], other)
    if e.inertia is not None:
        _check_coriolis(e, e.inertia)
        tau = e.functions.get('inverse_dynamics')
        if tau is not None:
            _check_power(e, tau, e.inertia)
    if isinstance(e.reference, Model) and 'task_inertia' in e.functions:
        _check_task(e, e.reference)


# -- the robot ------------------------------------------------------------------------------------


def _compare_with_reference(e: Examination, source: Source, reference: Reference) -> None:
    law, scale = REFERENCE_LAWS.get(source.term, source.function), e.scales[source.term]
    values = e.values(source)
    expected = np.array([evaluate(reference.terms, source.term, q, qd) for q, qd, _ in e.rows])
    tolerance = e.tolerance_of(source)
    samples = _samples(e, source.term, values, expected)
    finding = e.check(law, [source.function], samples, scale, tolerance)
    if finding is None:
        return
    e.wrong.add((source.function, source.term))
    seen = e.comparison(source.term, values, expected, tolerance)
    text = _transposed(e, source, expected) or cause(seen, reference.terms, reference)
    if text is None and source.term == 'eta' and ('task_inertia', 'Lambda') in e.wrong:
        text = 'unknown; task_inertia, which is part of eta, is wrong'
    entries = wrong_entries(seen) if text is None else ''
    source_text = f'{reference.text}, {reference.source}'
    e.keep(replace(finding, source=source_text, entries=entries), text)


def _samples(e: Examination, term: str, values: Array, expected: Array) -> list[Sample]:
    """Return values of a term beside expected ones, in the first states."""
    return [
        Sample(value, right, q, qd if term in ('h', 'eta') else None)
        for value, right, (q, qd, _) in zip(values, expected, e.rows, strict=False)
    ]


def _transposed(e: Examination, source: Source, expected: Array) -> str | None:
    if source.function != 'coriolis_matrix':
        return None
    C = e.functions['coriolis_matrix']
    turned = [C(q, qd).T @ qd for q, qd, _ in e.rows]
    small = e.tolerance * e.scales['h']
    return 'C is transposed' if np.abs(turned - expected).max() <= small else None


# -- the same term of two functions ---------------------------------------------------------------


def _compare(e: Examination, first: Source, other: Source) -> None:
    if other.function == 'inverse_dynamics' and first.function != 'forward_dynamics':
        # The gravity torque is said to differ from inverse dynamics, not the reverse.
        first, other = other, first
    names = [other.function, first.function]
    values, expected = e.values(other), e.values(first)
    tolerance = max(e.tolerance_of(first), e.tolerance_of(other))
    law = _pair_law(names, first.term)
    samples = _samples(e, first.term, values, expected)
    finding = e.check(law, names, samples, e.scales[first.term], tolerance)
    if finding is None:
        return
    known = e.blame(first, other)
    if known is not None:
        e.keep(finding, known, follows=True)
        return
    seen = e.comparison(first.term, values, expected, tolerance)
    terms = Terms(lambda q: first.value(q, q), first.value, lambda q: first.value(q, q))
    text = cause(seen, terms)
    e.keep(finding, None if text is None else f'{other.text}, compared with {first.text}: {text}')


def _pair_law(names: list[str], term: str) -> str:
    if 'forward_dynamics' in names:
        return 'forward_inverts_inverse'
    if term == 'M':
        energy = 'kinetic_energy' in names
        return 'kinetic_energy_of_mass_matrix' if energy else 'mass_matrix_columns'
    if term == 'h':
        return 'coriolis_torque'
    return 'gravity_is_a_gradient' if 'potential_energy' in names else 'gravity_at_rest'


# -- the Coriolis torque of an inertia matrix -----------------------------------------------------


def _check_coriolis(e: Examination, M: Source) -> None:
    product, tolerance = momentum(M, e.functions), e.tolerance_of(M)
    rows = e.rows[:SLOW_STATES]
    belonging = [velocity_torque(product, q, qd) for q, qd, _ in rows]
    for source in e.sources:
        if source.term != 'h':
            continue
        if source.function == 'coriolis_matrix':
            _check_skew_symmetry(e, source, M, belonging)
        values = np.array([source.value(q, qd) for q, qd, _ in rows])
        samples = _samples(e, 'h', values, np.array(belonging))
        names = dict.fromkeys([source.function, M.function])
        finding = e.check('coriolis_of_inertia', names, samples, e.scales['h'], tolerance)
        if finding is None:
            continue
        known = e.blame(source, M)
        if known is None:
            e.keep(finding, _cause_of_coriolis(e, source, values, product))
        else:
            e.keep(finding, known, follows=True)


def _cause_of_coriolis(
    e: Examination, source: Source, values: Array, product: Callable[[Array, Array], Array]
) -> str | None:
    """Return how a Coriolis torque differs from the one that belongs to M."""
    symbols: dict[bytes, Array] = {}

    def h(q: Array, qd: Array) -> Array:
        if q.tobytes() not in symbols:
            symbols[q.tobytes()] = christoffel(lambda x, v: velocity_torque(product, x, v), q)
        return np.asarray(np.einsum('ijk,j,k->i', symbols[q.tobytes()], qd, qd))

    expected = np.array([h(q, qd) for q, qd, _ in e.rows[: len(values)]])
    seen = e.comparison('h', values, expected, e.tolerance)
    text = cause(seen, Terms(lambda q: q, h, lambda q: q))
    return None if text is None else f'{source.text}, compared with that of M: {text}'


def _check_skew_symmetry(e: Examination, h: Source, M: Source, belonging: list[Array]) -> None:
    C, tolerance = e.functions['coriolis_matrix'], e.tolerance_of(M)
    samples, sizes = [], [1e-3 * e.scales['M']]  # M constant and C zero: differences of M
    for q, qd, _ in e.rows:
        speed = float(np.abs(qd).sum())
        rate = derivative(lambda t, q=q, qd=qd: M.value(q + t * qd, qd), speed)  # type: ignore[misc]
        N = rate - 2 * C(q, qd)
        samples.append(Sample(N, -N.T, q, qd))
        sizes.append(float(np.abs(rate).max()) + float(np.abs(C(q, qd)).max()))
    names = ['coriolis_matrix', M.function]
    finding = e.check('skew_symmetry', names, samples, max(sizes), tolerance)
    rows = zip(belonging, e.rows, strict=False)
    small = 10 * tolerance * e.scales['h']
    has_torque = all(np.abs(C(q, v) @ v - right).max() <= small for right, (q, v, _) in rows)
    if finding is not None:
        text = e.blame(h, M)
        if text is None and has_torque:
            text = 'C qd is right: is C the matrix of Christoffel symbols, (6.63) and (6.67)?'
        elif text is None:
            text = 'C qd is not the Coriolis torque that belongs to M'
        e.keep(finding, text, follows=not has_torque)
    elif has_torque and not _is_christoffel(e, C, small):
        e.notes.append(
            'coriolis_matrix: C qd and the skew symmetry are right, but C is not the matrix of '
            'Christoffel symbols, Spong, Hutchinson and Vidyasagar, (6.63) and (6.67)'
        )


def _is_christoffel(e: Examination, C: Function, small: float) -> bool:
    """Return whether C(q, a) b = C(q, b) a: Gamma_ijk = Gamma_ikj."""
    for k, (q, a, _) in enumerate(e.rows):
        b = e.states.qd[k - 1]
        if np.abs(C(q, a) @ b - C(q, b) @ a).max() > small:
            return False
    return True


# -- energy ---------------------------------------------------------------------------------------


def _check_power(e: Examination, tau: Function, M: Source) -> None:
    """dE/dt = qd^T tau."""
    K, P = e.functions.get('kinetic_energy'), e.functions.get('potential_energy')
    product, zero = momentum(M, e.functions), np.zeros(e.n)

    def rate(q: Array, qd: Array, qdd: Array) -> Array:
        def energy(x: Array, v: Array) -> Array:
            kinetic = v @ product(x, v) / 2 if K is None else K(x, v)
            return np.asarray(kinetic if P is None else kinetic + P(x))

        speed = float(np.abs(qd).sum() + np.abs(qdd).sum())
        change = rate_in_motion(energy, q, qd, qdd, speed)
        return np.asarray(change if P is not None else change + qd @ tau(q, zero, zero))

    samples = [
        Sample(np.asarray(qd @ tau(q, qd, qdd)), rate(q, qd, qdd), q, qd, qdd)
        for q, qd, qdd in e.rows
    ]
    names = ['inverse_dynamics', M.function if K is None else K.name, *([P.name] if P else [])]
    scale = e.scales['h'] * float(np.abs(e.states.qd).max())
    used = dict.fromkeys(names)
    finding = e.check('power_balance', used, samples, scale, e.tolerance_of(M))
    if finding is not None:
        wrong = [s.text for s in e.sources if s.function in names and e.is_wrong(s)]
        if not wrong and any(
            f.law == 'coriolis_of_inertia' and tau.name in f.functions for f in e.findings
        ):
            wrong = ['C qd']
        text = f'wrong: {", ".join(wrong)}' if wrong else None
        e.keep(finding, text, follows=bool(wrong))


def _check_task(e: Examination, robot: Model) -> None:
    """K and its rate by Lambda and eta, where qd = M^-1 J^T F has no part in the null space."""
    Lambda, eta = e.functions['task_inertia'], e.functions.get('task_bias')
    energies, powers = [], []
    for q, _, qdd in e.rows:
        M, J = robot.terms.M(q), robot.jacobians[''](q)
        qd = np.linalg.solve(M, J.T @ qdd[: len(J)])
        P, speed = Lambda(q) @ J @ qd, float(np.abs(qd).sum())
        energies.append(Sample(P @ J @ qd / 2, qd @ M @ qd / 2, q, qd))
        if eta is not None:
            # Lambda^-1 is smooth, also near singular postures: dLambda/dt = -Lambda D Lambda
            D = derivative(lambda t, q=q, qd=qd: np.linalg.pinv(Lambda(q + t * qd)), speed)  # type: ignore[misc]
            mu = eta(q, qd) - eta(q, 0 * qd)
            powers.append(Sample(-P @ D @ P / 2, J @ qd @ mu, q, qd))
    checked = {'task_energy': energies} | ({'task_power': powers} if powers else {})
    for law, samples in checked.items():
        scale = largest(x for sample in samples for x in sample[:2])
        finding = e.check(
            law, ['task_inertia', 'task_bias'][: 1 + (samples is powers)], samples, scale
        )
        if finding is not None:
            e.keep(finding, None, follows=True)  # from that of Lambda or eta
