# SPDX-License-Identifier: Apache-2.0
"""Findings of all tools have one form."""

import numpy as np

from robot_dynamics.check.findings import Fault
from robot_dynamics.common.reporting.findings import Finding, Repair
from robot_dynamics.textbook.grading.grading_report import FailedLaw
from robot_dynamics.validation.engine_report import Report, Residual, Verdict

MASS = Repair('inertial/mass/@value', 2500.0, 2.5)


def test_a_finding_as_json():
    assert Finding('mass-unit', 'forearm', 'mass in grams', 1e3, (MASS,)).to_json() == {
        'kind': 'mass-unit',
        'subject': 'forearm',
        'words': 'mass in grams',
        'size': 1e3,
        'repair': [{'attribute': 'inertial/mass/@value', 'from': 2500.0, 'to': 2.5}],
    }
    assert Finding('weight', '', 'heavy').to_json()['repair'] is None


def test_a_fault_of_a_description():
    fault = Fault('warning', 'mass-unit', 'forearm', 'mass in grams', (MASS,))
    assert fault.finding == Finding('mass-unit', 'forearm', 'mass in grams', None, (MASS,))
    assert fault.finding.to_json().items() <= fault.to_json().items()


def test_a_law_that_fails():
    failed = FailedLaw('skew_symmetry', 'dM/dt = C + C^T', 'a book', ('M', 'C'), 0.3, None, None)
    assert failed.finding[:2] == ('skew_symmetry', 'M, C')
    assert failed.finding.words.startswith('dM/dt = C + C^T; cause: unknown')
    assert failed.finding.size == 0.3


def test_findings_of_a_comparison_are_what_is_beyond_the_tolerance():
    residuals = (
        Residual('mass matrix', 'elbow', 1e-12, 1e-12),
        Residual('gravity torque', 'elbow', 0.5, 0.1),
        Residual('inverse dynamics', 'wrist', np.nan, np.nan),
    )
    report = Report(Verdict.FAIL, 'arm', residuals=residuals, tolerance=1e-9, cause='no gravity')
    assert [f[:2] for f in report.findings] == [
        ('gravity torque', 'elbow'),
        ('inverse dynamics', 'wrist'),
        ('modelling mistake', ''),
    ]
    assert report.findings[0].size == 0.1
    assert report.findings[-1].words == 'no gravity'
    assert Report(Verdict.PASS, 'arm', residuals=residuals[:1], tolerance=1e-9).findings == ()
