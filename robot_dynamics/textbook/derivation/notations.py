# SPDX-License-Identifier: Apache-2.0
"""Letters of the books.

The names of parameters are those of the planar elbow, or of the two-link arm, of each book, where
it has one: Spong, Hutchinson and Vidyasagar, section 6.4.2; Lynch and Park, draft, section 9.1.1;
Siciliano et al., section 7.3; Milićević, Golubović and Slavković, (2.6)-(2.15).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robot_dynamics.textbook.derivation.symbolic_terms import Parameter


@dataclass(frozen=True)
class Notation:
    """The letters of a book. {i} is a number, {x} an entry of a vector or tensor."""

    book: str
    q: tuple[str, str]  # joint positions: name in Python, LaTeX
    M: str  # LaTeX of the entries of the inertia matrix
    C: str  # of the Coriolis matrix, or of C qd
    g: str  # of the gravity torque
    factor: str  # of the factors of the Coriolis torque
    has_coriolis_matrix: bool  # else the vector C qd is written
    parameters: Mapping[str, tuple[str, str]]  # by kind: name in Python, LaTeX

    def name(self, parameter: Parameter) -> str:
        """Return the name of a parameter in Python."""
        return self.parameters[parameter.kind][0].format(i=parameter.body, x=parameter.place)

    def latex(self, parameter: Parameter) -> str:
        """Return a parameter in LaTeX."""
        return self.parameters[parameter.kind][1].format(i=parameter.body, x=parameter.place)


NOTATIONS: dict[str, Notation] = {
    'spong': Notation(
        'Spong, Hutchinson and Vidyasagar',
        ('q', 'q'),
        'd',
        'c',
        'g',
        'h',
        True,
        {
            'm': ('m{i}', 'm_{{{i}}}'),
            'l': ('l{i}{x}', '\\ell_{{{i}{x}}}'),
            'c': ('lc{i}{x}', '\\ell_{{c{i}{x}}}'),
            'I': ('I{i}{x}', 'I_{{{i}{x}}}'),
            'B': ('J{i}', 'J_{{{i}}}'),
            'g': ('g', 'g'),
        },
    ),
    'lynch-park': Notation(
        'Lynch and Park',
        ('theta', '\\theta'),
        'M',
        'c',
        'g',
        'h',
        False,
        {
            'm': ('m{i}', '\\mathfrak{{m}}_{{{i}}}'),
            'l': ('L{i}{x}', 'L_{{{i}{x}}}'),
            'c': ('r{i}{x}', 'r_{{{i}{x}}}'),
            'I': ('I{i}{x}', '\\mathcal{{I}}_{{{i}{x}}}'),
            'B': ('Irotor{i}', '\\mathcal{{I}}_{{\\mathrm{{rotor}},{i}}}'),
            'g': ('g', 'g'),
        },
    ),
    'siciliano': Notation(
        'Siciliano, Sciavicco, Villani and Oriolo',
        ('q', 'q'),
        'b',
        'c',
        'g',
        'h',
        True,
        {
            'm': ('ml{i}', 'm_{{\\ell_{i}}}'),
            'l': ('a{i}{x}', 'a_{{{i}{x}}}'),
            'c': ('l{i}{x}', '\\ell_{{{i}{x}}}'),
            'I': ('Il{i}{x}', 'I_{{\\ell_{i}{x}}}'),
            'B': ('Im{i}', 'I_{{m_{i}}}'),
            'g': ('g', 'g'),
        },
    ),
    'milicevic': Notation(
        'Milićević, Golubović and Slavković',
        ('q', 'q'),
        'D',
        'h',
        'c',
        'b',
        False,
        {
            'm': ('m{i}', 'm_{{{i}}}'),
            'l': ('a{i}{x}', 'a_{{{i}{x}}}'),
            'c': ('r{i}{x}', '\\bar{{r}}_{{{i}{x}}}'),
            'I': ('I{i}{x}', 'I_{{{i}{x}}}'),
            'B': ('J{i}', 'J_{{{i}}}'),
            'g': ('g', 'g'),
        },
    ),
}
