# SPDX-License-Identifier: Apache-2.0
"""What the checks of laws share: functions, states, sizes, and the record of what failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.states import States
from robot_dynamics.textbook.grading.functions import Function
from robot_dynamics.textbook.grading.graded_laws import LAWS
from robot_dynamics.textbook.grading.graded_terms import Comparison, Source, evaluate, sources
from robot_dynamics.textbook.grading.grading_report import FailedLaw, Place
from robot_dynamics.textbook.grading.references import Reference

EXPLAINED = 1e-3  # what a hypothesis may leave, relative to the difference
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


class Sample(NamedTuple):
    """Two values that a law makes equal, in one state."""

    value: Array
    expected: Array
    q: Array
    qd: Array | None = None
    qdd: Array | None = None


class Examination:
    """The functions of a robot, the states in which they are checked, and what was found.

    Attributes:
        functions: the functions under test, by name.
        n: number of joints.
        states: (k, n) each.
        rows: the same, state by state.
        reference: the robot, None if it is unknown.
        tolerance: relative to the sizes.
        sources: the terms that the functions determine.
        wrong: function and term of those that are wrong.
        checked: names of the laws that were checked.
        findings: the laws that fail.
        notes: remarks on functions that are not wrong.
    """

    def __init__(
        self,
        functions: dict[str, Function],
        n: int,
        states: States,
        reference: Reference | None,
        tolerance: float,
    ):
        self.functions, self.n, self.states = functions, n, states
        self.rows: list[tuple[Array, Array, Array]] = list(zip(*states, strict=True))
        self.reference, self.tolerance = reference, tolerance
        self.wrong: set[tuple[str, str]] = set()
        self.checked: list[str] = []
        self.findings: list[FailedLaw] = []
        self.notes: list[str] = []
        self.sources = [s for s in sources(functions, n) if self._is_determined(s)]

    # -- the record -----------------------------------------------------------------------------

    def check(
        self,
        law: str,
        functions: Iterable[str],
        samples: Iterable[Sample],
        scale: float,
        tolerance: float | None = None,
    ) -> FailedLaw | None:
        """Check a law on samples; return its finding, without a cause and not yet kept.

        Args:
            law: its name.
            functions: those that take part.
            samples: values that it makes equal.
            scale: size of the values.
            tolerance: relative to the scale; None: that of the examination.
        """
        self.checked.append(law)
        worst, found = 0.0, None
        for sample in samples:
            error = float(np.abs(sample.value - sample.expected).max())
            if error > worst:
                worst, found = error, sample
        if found is None or worst <= (self.tolerance if tolerance is None else tolerance) * scale:
            return None
        rule = LAWS[law]
        return FailedLaw(
            law, rule.equation, rule.source, tuple(functions), worst / scale, _place(found), None
        )

    def keep(self, finding: FailedLaw, cause: str | None, *, follows: bool = False) -> None:
        """Keep a finding with its cause.

        Args:
            finding: of `check`.
            cause: None if it is unknown.
            follows: whether it follows from another finding.
        """
        self.findings.append(replace(finding, cause=cause, follows=follows))

    def fail(self, law: str, function: str, cause: str) -> None:
        """Keep a finding without numbers."""
        self.checked.append(law)
        rule = LAWS[law]
        self.findings.append(
            FailedLaw(law, rule.equation, rule.source, (function,), np.inf, None, cause)
        )

    def _is_determined(self, source: Source) -> bool:
        """Return whether a term is finite; if not, forward dynamics does not determine M."""
        q, qd, _ = self.rows[0]
        with np.errstate(all='ignore'):
            if np.isfinite(source.value(q, qd)).all():
                return True
        if source.term == 'M':
            text = 'the accelerations do not depend on every torque: M^-1 is singular'
            self.fail('positive_definiteness', source.function, text)
        return False

    # -- sources of terms -----------------------------------------------------------------------

    def values(self, source: Source) -> Array:
        """Return the term in every state, (k, n, n) or (k, n)."""
        return np.array([source.value(q, qd) for q, qd, _ in self.rows])

    def is_wrong(self, source: Source) -> bool:
        """Return whether a term is known to be wrong."""
        return (source.function, source.term) in self.wrong

    @made_once
    def inertia(self) -> Source | None:
        """The source of M that others are compared with: a right one if there is one."""
        found = [s for s in self.sources if s.term == 'M']
        return next(iter([s for s in found if not self.is_wrong(s)] or found), None)

    def comparison(
        self, term: str, values: Array, expected: Array, tolerance: float
    ) -> Comparison:
        """Return values of a term beside expected ones, in the first states."""
        count = len(values)
        # A hypothesis explains nearly all of a difference, also of one just above the tolerance.
        largest_difference = float(np.abs(values - expected).max())
        rounding = min(10 * tolerance * self.scales[term], EXPLAINED * largest_difference)
        return Comparison(
            term, self.states.q[:count], self.states.qd[:count], values, expected, rounding
        )

    def blame(self, *pair: Source) -> str | None:
        """Return as a sentence which of the sources is wrong, None if none is known to be."""
        wrong = [s.text for s in pair if self.is_wrong(s)]
        right = [s.text for s in pair if not self.is_wrong(s)]
        if not wrong:
            return None
        text = f'{" and ".join(wrong)} {"are" if len(wrong) > 1 else "is"} wrong'
        return text if not right else f'{text}, {" and ".join(right)} is right'

    # -- sizes ----------------------------------------------------------------------------------

    @made_once
    def scales(self) -> dict[str, float]:
        """Sizes of the terms over the states; those of torques are the same."""
        sizes = dict.fromkeys(('M', 'h', 'g', *(s.term for s in self.sources)), 0.0)
        if self.reference is not None:
            for term in sizes:
                rows = [evaluate(self.reference.terms, term, q, qd) for q, qd, _ in self.rows]
                sizes[term] = float(np.abs(rows).max())
        else:
            for source in self.sources:
                if sizes[source.term] == 0.0:
                    sizes[source.term] = float(np.abs(self.values(source)).max())
        inertial = sizes['M'] * float(np.abs(self.states.qdd).max())
        torque = max(inertial, sizes['h'], sizes['g'], TINY)
        return {t: max(size, TINY) for t, size in sizes.items()} | {'h': torque, 'g': torque}

    def tolerance_of(self, source: Source) -> float:
        """Return the tolerance of a term: inverting M amplifies rounding."""
        if source.function not in ('forward_dynamics', 'hamiltonian'):
            return self.tolerance
        matrices = [s for s in self.sources if s.function == source.function and s.term == 'M']
        condition = max(float(np.linalg.cond(M)) for s in matrices for M in self.values(s))
        return self.tolerance + 1e3 * EPS * condition


def _place(sample: Sample) -> Place:
    error = np.abs(sample.value - sample.expected)
    entry = np.unravel_index(int(error.argmax()), error.shape)
    return Place(
        sample.q,
        sample.qd,
        sample.qdd,
        tuple(int(k) + 1 for k in entry),
        float(np.asarray(sample.value)[entry]),
        float(np.asarray(sample.expected)[entry]),
    )


def largest(values: Iterable[Array]) -> float:
    """Return the largest absolute entry, 1 if all are zero."""
    return max(float(np.abs(value).max()) for value in values) or 1.0
