# SPDX-License-Identifier: Apache-2.0
"""Equations of motion as LaTeX and as a Python module."""

from __future__ import annotations

from typing import Any, Protocol

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.textbook.derivation.notations import Notation
from robot_dynamics.textbook.derivation.symbolic_terms import Parameter

DIGITS = 6  # of numbers in LaTeX


class Expressions(Protocol):
    """Equations of motion as SymPy expressions; attributes as those of `Derivation`."""

    model: RobotModel
    notation: Notation
    parameters: list[Parameter]
    letters: list[Any]  # of the parameters
    q: Any
    qd: Any
    values: dict[Any, float]
    h: tuple[Any, Any] | None
    M: Any
    C: Any
    g: Any

    def coriolis_torque(self) -> Any:
        """Return C qd (n, 1), sorted by products of velocities."""


def latex(derived: Expressions) -> str:
    """Return M, C (or C qd) and g, entry by entry, as an align* environment."""
    notation, n = derived.notation, derived.model.n
    rows = []
    for i in range(n):
        for j in range(i, n):
            left = f'{notation.M}_{{{i + 1}{j + 1}}}'
            if i != j:
                left += f' = {notation.M}_{{{j + 1}{i + 1}}}'
            rows.append((left, derived.M[i, j]))
    if notation.has_coriolis_matrix:
        if derived.h is not None:
            rows.append(derived.h)
        rows += [
            (f'{notation.C}_{{{i + 1}{j + 1}}}', derived.C[i, j])
            for i in range(n)
            for j in range(n)
        ]
    else:
        torque = derived.coriolis_torque()
        rows += [(f'{notation.C}_{{{i + 1}}}', torque[i]) for i in range(n)]
    rows += [(f'{notation.g}_{{{i + 1}}}', derived.g[i]) for i in range(n)]
    names = _latex_names(derived)
    lines = [f'{left} &= {_latex(right, names)}' for left, right in rows]
    return '\n'.join(
        [
            # A line break would end the comment.
            f'% {" ".join(derived.model.name.split())}, in the letters of {notation.book}',
            '\\begin{align*}',
            ' \\\\\n'.join(lines),
            '\\end{align*}',
        ]
    )


def _latex(expression: Any, names: dict[Any, tuple[str, str]]) -> str:
    import sympy

    # SymPy sorts factors and terms by name: names that sort as the books write.
    sorting = {symbol: sympy.Symbol(key) for symbol, (key, _) in names.items()}
    rounded = {x: sympy.Float(x, DIGITS) for x in expression.atoms(sympy.Float)}
    shown = {sorting[symbol]: text for symbol, (_, text) in names.items()}
    ordered = expression.xreplace({**sorting, **rounded})
    return str(sympy.latex(ordered, symbol_names=shown, fold_short_frac=True))


def _latex_names(derived: Expressions) -> dict[Any, tuple[str, str]]:
    """Return a key for sorting and the LaTeX of each symbol: masses, lengths, inertias, g, q."""
    import sympy

    notation, letter = derived.notation, derived.notation.q[1]
    names = {
        symbol: (f'{"mlcIBg".index(p.kind)}{p.body}{p.place}', notation.latex(p))
        for symbol, p in zip(derived.letters, derived.parameters, strict=True)
        if p.kind != 'd'
    }
    names[sympy.Symbol('h')] = ('6', 'h')
    for j, (q, qd) in enumerate(zip(derived.q, derived.qd, strict=True), start=1):
        names[q] = (f'8{j}', f'{letter}_{{{j}}}')
        names[qd] = (f'7{j}', f'\\dot{{{letter}}}_{{{j}}}')
    return names


def python(derived: Expressions) -> str:
    """Return a Python module with mass_matrix, coriolis_matrix, gravity_torque, inverse_dynamics.

    Its parameters are those of the model.
    """
    notation, n = derived.notation, derived.model.n
    q = ', '.join(map(str, derived.q)) + (',' if n == 1 else '')
    qd = ', '.join(map(str, derived.qd)) + (',' if n == 1 else '')
    name = notation.q[0]
    positions = f'    {q} = {name}'
    velocities = f'    {qd} = {name}d'
    values = [f'{symbol} = {value!r}' for symbol, value in derived.values.items()]
    values = ['', *values] if values else []
    # Within a string, quotes would end it.
    escaped = derived.model.name.replace('\\', r'\\').replace('"', r'\"')
    h = [] if derived.h is None else [f'    h = {_code(derived.h[1])}']
    return '\n'.join(
        [
            f'"""{escaped}, in the letters of {notation.book}. SI units."""',
            '',
            'from numpy import array, cos, sin',
            *values,
            *_function('mass_matrix', name, [positions], _matrix(derived.M)),
            *_function(
                'coriolis_matrix',
                f'{name}, {name}d',
                [positions, velocities, *h],
                _matrix(derived.C),
            ),
            *_function('gravity_torque', name, [positions], [_code(x) for x in derived.g]),
            '',
            '',
            f'def inverse_dynamics({name}, {name}d, {name}dd):',
            f'    inertial = mass_matrix({name}) @ {name}dd',
            f'    coriolis = coriolis_matrix({name}, {name}d) @ {name}d',
            f'    return inertial + coriolis + gravity_torque({name})',
            '',
        ]
    )


def _function(name: str, arguments: str, lines: list[str], rows: list[str]) -> list[str]:
    """Return the lines of a function that returns an array of these rows."""
    return [
        '',
        '',
        f'def {name}({arguments}):',
        *lines,
        '    return array(',
        '        [',
        *(f'            {row},' for row in rows),
        '        ],',
        '        dtype=float,',
        '    )',
    ]


def _matrix(M: Any) -> list[str]:
    return [f'[{", ".join(_code(x) for x in M.row(i))}]' for i in range(M.shape[0])]


def _code(expression: Any) -> str:
    import sympy

    return str(sympy.pycode(expression, fully_qualified_modules=False))
