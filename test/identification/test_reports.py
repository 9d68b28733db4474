# SPDX-License-Identifier: Apache-2.0
"""Results for people have one form: `text(result)` and `as_json(result)` of each report."""

import inspect

import pytest

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.evaluation import evaluation_report
from robot_dynamics.identification import limits_of
from robot_dynamics.identification.estimation import identification_report
from robot_dynamics.identification.excitation import excitation_report
from robot_dynamics.identification.excitation.excitation_search import excite
from robot_dynamics.identification.payload import payload_report
from robot_dynamics.urdf.loading import load_urdf

REPORTS = {
    'Evaluation': evaluation_report,
    'Excitation': excitation_report,
    'Identification': identification_report,
    'Payload': payload_report,
}


@pytest.mark.parametrize('result', REPORTS)
def test_a_report_takes_the_result_alone(result):
    for function, returned in (('text', 'str'), ('as_json', 'dict[str, Any]')):
        signature = inspect.signature(getattr(REPORTS[result], function))
        (parameter,) = signature.parameters.values()
        assert (parameter.name, parameter.annotation) == ('found', result)
        assert signature.return_annotation == returned


def test_the_figures_of_an_excitation_are_those_of_its_text():
    model = load_urdf(share_file('urdf/scara_rrp.urdf'))
    found = excite(Dynamics(model), limits_of(model), period=5.0, harmonics=3, repeats=1)
    figures, text = excitation_report.as_json(found), excitation_report.text(found)
    assert figures['robot'] in text
    assert f'{figures["condition"]:.3g}' in text
    for joint in figures['joints']:
        (row,) = (line for line in text.splitlines() if line.startswith(joint['name']))
        shares = [joint[f'used_{kind}'] for kind in ('velocity', 'acceleration', 'effort')]
        assert [f'{100 * share:.0f}' for share in shares] == row.replace('%', '').split()[-3:]
        assert max(shares) <= 1
