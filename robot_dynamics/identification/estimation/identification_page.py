# SPDX-License-Identifier: Apache-2.0
"""An identification as a page: one self-contained HTML file."""

from __future__ import annotations

import base64
import html as markup
from collections.abc import Iterable, Sequence

import numpy as np

from robot_dynamics.common.reporting.figures import encoded
from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.identification.estimation.base_fit import PARAMETERS
from robot_dynamics.identification.estimation.identification_records import Identification
from robot_dynamics.identification.estimation.identification_report import (
    RESIDUALS,
    drive_rows,
    drive_units,
    remarks,
    residual_rows,
    units,
    verdict,
)
from robot_dynamics.recordings.effort_curves import effort_curves

CHANGED = 1e-3  # relative: parameters that change less are not listed
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: .2em .7em; text-align: right }
th { border-bottom: 1px solid #888 } td:first-child, th:first-child { text-align: left }
.better { color: #06691d } .worse { color: #a30000 }
img { width: 100% } code { white-space: nowrap }
"""


def html(found: Identification, source: str) -> str:
    """Return the report: verdict, residuals, curves, parameters, and how the data were used.

    Args:
        found: the identification.
        source: name of the recording.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    kind, law = found.validation.verdict.split()[-1], found.friction.law
    body = [
        f'<h1>Identification of {markup.escape(found.model.name)}</h1>',
        f'<p class="{kind}"><strong>{markup.escape(verdict(found))}</strong></p>',
        f'<p>Recording: <code>{markup.escape(source)}</code></p>',
        '<h2>Residuals</h2>',
        '<p>Root mean square on data that were not fitted, after the low-pass. Before: the '
        'description. After: the URDF and the parameters of the nodes together. Noise: from the '
        'spectrum of the efforts above the motion.</p>',
        _table(RESIDUALS, residual_rows(found.validation, found)),
        _picture(found),
        '<h2>Friction and drives</h2>',
        f'<p>Friction law <code>{law.name}</code>: <code>{markup.escape(law.formula)}</code>. '
        f'{markup.escape(drive_units(found))}.</p>',
        _table(drive_rows(found)[0], drive_rows(found)[1:]),
        *_laws(found),
        '<h2>Inertial parameters that changed</h2>',
        '<p>About the frame of the link: mass m [kg], first moments mx, my, mz [kg m], tensor '
        '[kg m²]. The torques determine combinations of them: a parameter marked no is, alone, '
        'that of the physically consistent set closest to the description.</p>',
        _table(('parameter', 'URDF', 'identified', 'determined alone'), list(_changed(found))),
        '<h2>What the motion does not determine</h2>',
        *_undetermined(found),
        '<h2>How the data were used</h2>',
        '<ul>',
        *(f'<li>{markup.escape(line)}</li>' for line in remarks(found)),
        '</ul>',
    ]
    head = f'<meta charset="utf-8"><title>{markup.escape(found.model.name)}</title>'
    return f'<!DOCTYPE html><html><head>{head}<style>{STYLE}</style></head><body>' + (
        '\n'.join(body) + '</body></html>\n'
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return ''.join(f'<{tag}>{markup.escape(cell)}</{tag}>' for cell in cells)

    lines = [line(head, 'th'), *(line(row, 'td') for row in rows)]
    return '<table>' + ''.join(f'<tr>{cells}</tr>\n' for cells in lines) + '</table>'


def _picture(found: Identification) -> str:
    """Return measured efforts, and the residuals before and after, as an image element."""
    v = found.validation
    drawn = {
        'measured effort': v.effort,
        'model': v.after,
        'residual before': v.effort - v.before,
        'residual': v.effort - v.after,
    }
    title = f'efforts below {found.signals.cutoff:.3g} Hz'
    figure = effort_curves(v.t, drawn, found.model.joint_names, units(found), title)
    data = base64.b64encode(encoded(figure, 'png', dpi=90)).decode()
    return f'<img alt="efforts and residuals" src="data:image/png;base64,{data}">'


def _laws(found: Identification) -> list[str]:
    if len(found.friction.held_out) < 2:
        return []
    rows = [(name, f'{size:.3f}') for name, size in found.friction.held_out.items()]
    return [
        '<p>Residual held out by friction law, relative to the first:</p>',
        _table(('law', 'residual'), rows),
    ]


def _changed(found: Identification) -> Iterable[tuple[str, ...]]:
    start = found.fit.problem.start.theta
    for i, body in enumerate(found.model.body_names):
        own = slice(10 * i, 10 * i + 10)
        for name, old, new, error, certain in zip(
            PARAMETERS,
            start[own],
            found.inertia.theta[own],
            found.inertia.error[own],
            found.inertia.determined[own],
            strict=True,
        ):
            if abs(new - old) > CHANGED * max(abs(old), abs(new)):
                sure = 'yes' if certain else 'no'
                yield f'{body} {name}', f'{old:.4g}', measured(new, error), sure


def _undetermined(found: Identification) -> list[str]:
    base = found.inertia.base
    unseen = [name for name, sure in zip(base.names, base.determined, strict=True) if not sure]
    lines = []
    if unseen:
        lines.append(f'base parameters {", ".join(unseen)}: more excitation of these links')
    idle = np.array(found.model.joint_names)[~found.drives.excited]
    if len(idle):
        lines.append(f'friction and rotor inertia of {", ".join(idle)}: move them')
    if not found.drives.scale_known.all():
        payload = (
            'a known payload' if found.load is None else 'the payload given, or a heavier one'
        )
        lines.append(f'scale of the efforts: record {payload}, or give the effort scale')
    if not lines:
        return ['<p>All base parameters are determined.</p>']
    return ['<ul>', *(f'<li>{markup.escape(line)}</li>' for line in lines), '</ul>']
