# SPDX-License-Identifier: Apache-2.0
"""Equations of motion as LaTeX and as a Python module."""

from __future__ import annotations

import re
import textwrap
from typing import Any, Protocol

from robot_dynamics.common.reporting.numbers import decimals
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.textbook.derivation.notations import Notation
from robot_dynamics.textbook.derivation.symbolic_terms import Parameter

DIGITS = 6  # of numbers in LaTeX
BREAK = ' \\\\'  # at the end of a line of an equation
LONGEST = 100  # characters of a line
WIDTH = LONGEST - len(BREAK)  # of LaTeX, without a break
CONTINUED = '&\\qquad {} '  # begins the second line of an equation
EARLIEST = 30  # characters of a line before it is broken


class Expressions(Protocol):
    """Equations of motion as SymPy expressions; attributes as those of `Derivation`."""

    model: RobotModel
    notation: Notation
    parameters: list[Parameter]
    letters: list[Any]  # of the parameters
    q: Any
    qd: Any
    values: dict[Any, float]
    qdd: Any
    h: dict[Any, Any]
    M: Any
    C: Any
    g: Any

    def coriolis_torque(self) -> Any:
        """Return C qd (n, 1), sorted by products of velocities; with `h` beyond two links."""

    def regressor(self) -> tuple[Any, Any]:
        """Return Y (n, l) and Theta (l, 1)."""


def latex(derived: Expressions) -> str:
    """Return M, C (or C qd) and g, entry by entry, as an align* environment."""
    notation, n = derived.notation, derived.model.n
    q, qd = notation.q[1], f'\\dot{{{notation.q[1]}}}'
    rows: list[tuple[str, Any]] = []
    for i in range(n):
        for j in range(i, n):
            left = f'{notation.M}_{{{i + 1}{j + 1}}}'
            if i != j:
                left += f' = {notation.M}_{{{j + 1}{i + 1}}}'
            rows.append((left, derived.M[i, j]))
    one = [f'{i + 1}' for i in range(n)]
    coriolis, entries = list(derived.coriolis_torque()), one
    if notation.has_coriolis_matrix:
        coriolis, entries = list(derived.C), [i + j for i in one for j in one]
    used = set().union(*(x.free_symbols for x in coriolis))
    rows += [(_factor_name(h, derived), x) for h, x in derived.h.items() if h in used]
    # With arguments: c_1 alone is the cosine of joint 1.
    rows += [
        (f'{notation.C}_{{{entry}}}({q}, {qd})', x)
        for entry, x in zip(entries, coriolis, strict=True)
    ]
    rows += [(f'{notation.g}_{{{i + 1}}}({q})', derived.g[i]) for i in range(n)]
    return _aligned(derived, rows)


def regressor_latex(derived: Expressions) -> str:
    """Return Y and Theta, entry by entry, as an align* environment."""
    Y, Theta = derived.regressor()
    rows = [
        (f'Y_{{{i + 1}{k + 1}}}', Y[i, k]) for i in range(Y.shape[0]) for k in range(Y.shape[1])
    ]
    rows += [(f'\\Theta_{{{k + 1}}}', x) for k, x in enumerate(Theta)]
    return _aligned(derived, rows)


def _aligned(derived: Expressions, rows: list[tuple[str, Any]]) -> str:
    """Return equations as an align* environment, with the meaning of c_2 and s_2."""
    names = _latex_names(derived)
    lines = [_broken(f'{left} &= {_latex(right, names)}') for left, right in rows]
    waves = {x for _, right in rows for x in right.atoms(*_functions()) if _is_short(x)}
    for wave in sorted(waves, key=lambda x: _wave_name(x, names)):
        angle = _latex(wave.args[0], names)
        angle = f'({angle})' if wave.args[0].is_Add else angle
        lines.append(f'{_wave_name(wave, names)[1]} &= \\{wave.func.__name__} {angle}')
    title = f'% {_plain(derived.model.name)}, in the letters of {derived.notation.book}'
    body = f'{BREAK}\n'.join(lines)
    return f'{title}\n\\begin{{align*}}\n{body}\n\\end{{align*}}'


def _plain(text: str) -> str:
    """Return text of a model without what LaTeX or Python may interpret, which becomes `_`."""
    return re.sub(r'[^\w. -]', '_', text)


def _broken(line: str) -> str:
    """Return an equation in lines of at most WIDTH characters, broken at sums."""
    done, rest = [], line
    while len(rest) > WIDTH:
        places = [m.start() for m in re.finditer(r' [+-] ', rest[: WIDTH + len(' + ')])]
        late = [p for p in places if p > EARLIEST]
        if not late:
            # One long product: a break of the line of text alone.
            at = rest.rindex(' ', 0, WIDTH + 1)
            done.append(rest[:at] + '\n')
            rest = '  ' + rest[at + 1 :]
            continue
        # Outside of parentheses if possible, as late as possible.
        at = min(late, key=lambda p: (rest.count('(', 0, p) - rest.count(')', 0, p), -p))
        done.append(f'{rest[:at]}{BREAK}\n')
        rest = CONTINUED + rest[at + 1 :]
    return ''.join([*done, rest])


# -- expressions ----------------------------------------------------------------------------------

Names = dict[Any, tuple[str, str]]  # a key, by which factors are sorted, and the LaTeX of a symbol


def _latex(x: Any, names: Names) -> str:
    """Return the LaTeX of a sum, in the order of the books: masses, lengths, inertias, c_2, q."""
    terms = sorted(x.as_ordered_terms(), key=lambda t: _term_key(t, names))
    first, *others = (_term(t, names) for t in terms)
    return first + ''.join(f' - {t[1:]}' if t.startswith('-') else f' + {t}' for t in others)


def _term(x: Any, names: Names) -> str:
    import sympy

    number, factors = _coefficient_and_factors(x)
    sign = '-' if number < 0 else ''
    texts = [_factor(f, names) for f in sorted(factors, key=lambda f: _key(f, names))]
    size = abs(number)
    if size != 1 or not texts:
        rounded = sympy.Float(size, DIGITS) if size.is_Float else size
        fraction = size.is_Rational and size.q != 1
        texts.insert(0, f'\\tfrac{{{size.p}}}{{{size.q}}}' if fraction else sympy.latex(rounded))
    return sign + ' '.join(texts)


def _coefficient_and_factors(x: Any) -> tuple[Any, list[Any]]:
    number, rest = x.as_coeff_Mul()
    return number, [factor for factor in rest.as_ordered_factors() if not factor.is_Number]


def _factor(x: Any, names: Names) -> str:
    base, exponent = x.as_base_exp()
    power = '' if exponent == 1 else f'^{{{exponent}}}'
    if base.is_Add:
        return f'({_latex(base, names)}){power}'
    if base.is_Function and not _is_short(base):
        return f'\\{base.func.__name__}{power}({_latex(base.args[0], names)})'
    return (names[base][1] if base in names else _wave_name(base, names)[1]) + power


def _key(x: Any, names: Names) -> str:
    """Return the key of a factor, of a sum the least one."""
    base = x.as_base_exp()[0]
    if base.is_Add:
        atoms = base.atoms(*_functions()) | (base.free_symbols & names.keys())
        return min(_key(a, names) for a in atoms)
    return names[base][0] if base in names else _wave_name(base, names)[0]


def _term_key(x: Any, names: Names) -> tuple[bool, list[str]]:
    """Return the key of a term: those with cosines and sines last."""
    _, factors = _coefficient_and_factors(x)
    keys = sorted(_key(f, names) for f in factors for _ in range(int(f.as_base_exp()[1])))
    return any(f.as_base_exp()[0].is_Function for f in factors), keys


def _functions() -> tuple[Any, Any]:
    import sympy

    return sympy.cos, sympy.sin


def _is_short(wave: Any) -> bool:
    """Return whether the angle is a sum of joint angles, so that the wave is c_2 or s_23."""
    return all(term.is_Symbol for term in wave.args[0].as_ordered_terms())


def _wave_name(wave: Any, names: Names) -> tuple[str, str]:
    joints = ''.join(sorted(names[s][0][1:] for s in wave.free_symbols))
    letter = wave.func.__name__[0]
    return f'6{len(joints)}{joints}{letter}', f'{letter}_{{{joints}}}'


def _factor_name(h: Any, derived: Expressions) -> str:
    """Return the LaTeX of a factor of the Coriolis matrix."""
    letter, number = derived.notation.factor, str(h)[1:]
    return f'{letter}_{{{number}}}' if number else letter


def _latex_names(derived: Expressions) -> Names:
    """Return the names of all symbols: masses, lengths, inertias, g, then h, q."""
    notation, letter = derived.notation, derived.notation.q[1]
    names = {
        symbol: (f'{"mlcIBg".index(p.kind)}{p.body}{p.place}', notation.latex(p))
        for symbol, p in zip(derived.letters, derived.parameters, strict=True)
        if p.kind != 'd'
    }
    names |= {h: (f'58{h}', _factor_name(h, derived)) for h in derived.h}
    for j, symbols in enumerate(zip(derived.q, derived.qd, derived.qdd, strict=True), start=1):
        for kind, symbol, mark in zip('978', symbols, ('', '\\dot', '\\ddot'), strict=True):
            names[symbol] = (
                f'{kind}{j}',
                f'{mark}{{{letter}}}_{{{j}}}' if mark else f'{letter}_{{{j}}}',
            )
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
    values = [f'{symbol} = {decimals(value)}' for symbol, value in derived.values.items()]
    values = ['', *values] if values else []
    h = [_wrapped(f'{symbol} = ({_code(x)})', 4) for symbol, x in derived.h.items()]
    return '\n'.join(
        [
            f'"""{_plain(derived.model.name)}, in the letters of {notation.book}. SI units."""',
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
        *(_wrapped(f'{row},', 12) for row in rows),
        '        ],',
        '        dtype=float,',
        '    )',
    ]


def _wrapped(text: str, indent: int) -> str:
    """Return an expression within brackets in lines of at most LONGEST characters."""
    return textwrap.fill(
        text,
        LONGEST,
        initial_indent=' ' * indent,
        subsequent_indent=' ' * (indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _matrix(M: Any) -> list[str]:
    return [f'[{", ".join(_code(x) for x in M.row(i))}]' for i in range(M.shape[0])]


def _code(expression: Any) -> str:
    from sympy.printing.pycode import PythonCodePrinter

    class Printer(PythonCodePrinter):  # type: ignore[misc]
        def _print_Float(self, number: Any) -> str:
            return str(decimals(float(number)))

    return str(Printer({'fully_qualified_modules': False}).doprint(expression))
