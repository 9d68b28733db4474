# SPDX-License-Identifier: Apache-2.0
"""The last line of `evaluate` and `payload`: which model, identified or described."""

import os
from argparse import Namespace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
import urdf_text
from verbs import words_of

from robot_dynamics.cli.recording_options import model_origin
from robot_dynamics.common.yaml_text import parameters_text

DRIVES = parameters_text({'rotor_inertia': [0.1]}, '/**')
NOON = datetime(2026, 3, 4, 12).timestamp()
IDENTIFIED = DRIVES + parameters_text({'samples': 100}, '/identification')


@pytest.fixture
def files(tmp_path):
    """Return a function that writes arm.urdf, and parameter files of the same date."""

    def write(**texts):
        file = tmp_path / 'arm.urdf'
        file.write_text(urdf_text.chain(urdf_text.LIMIT))
        for name, text in texts.items():
            (tmp_path / f'{name}.yaml').write_text(text)
        for one in tmp_path.iterdir():
            os.utime(one, (NOON, NOON))
        return file

    return write


def origin(robot, params=None):
    return model_origin(Namespace(robot=robot, params_file=params))


def test_a_description_alone_is_described_only(files):
    assert origin(files()) == origin(Path('panda')) == origin(None) == 'model: described only'
    assert origin(files(arm=': no YAML [')) == 'model: described only'
    assert origin(files(arm=DRIVES)) == 'model: described only'


def test_both_files_of_identify_are_an_identified_model(files):
    robot = files(arm=IDENTIFIED)
    params = robot.with_suffix('.yaml')
    assert origin(robot, params) == f'model: identified ({params}, 2026-03-04)'


def test_each_file_of_identify_alone_identifies_a_part(files):
    robot = files(arm=IDENTIFIED, other=IDENTIFIED)
    beside, other = robot.with_suffix('.yaml'), robot.with_name('other.yaml')
    assert origin(robot) == (
        f'model: links identified ({robot}, 2026-03-04), drives described only; expected '
        f'--params {beside}'
    )
    expected = f'model: drives identified ({other}, 2026-03-04), links described only'
    assert origin(robot, other) == origin(None, other) == expected


def test_parameters_of_another_source_are_named(files):
    robot = files(own=DRIVES)
    own = robot.with_name('own.yaml')
    assert origin(robot, own) == f'model: described, with the parameters of {own}'


@pytest.mark.parametrize('verb', ['evaluate', 'payload'])
def test_the_verbs_end_with_it(run, files, tmp_path, verb):
    file, t = files(), np.arange(0, 12, 0.01)
    rows = np.column_stack([t, np.sin(t), np.cos(t), 1 + np.sin(t)])
    head = 'time,j1.q,j1.qd,j1.torque'
    np.savetxt(tmp_path / 'run.csv', rows, delimiter=',', header=head, comments='')
    code, shown, error = run(verb, *words_of(verb, file))
    assert code == 0, error
    assert shown.splitlines()[-1] == 'model: described only'
