# SPDX-License-Identifier: Apache-2.0
"""Each option of a recording alone: it changes what it names, with and without `--params`."""

import argparse

import numpy as np
import pytest

from robot_dynamics.cli.recording_options import (
    add_efforts,
    add_robot_changes,
    changed,
    chosen,
    measured,
)
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.urdf.loading import load_urdf

PATH = share_file('urdf/planar_2r.urdf')
MODEL = load_urdf(PATH)
JOINTS, (*_, LINK) = MODEL.joint_names, MODEL.link_names
FILE = {
    'joints': list(JOINTS),
    'tip_link': LINK,
    'locked_joints': ['other'],
    'locked_positions': [0.5],
    'gravity': [0.5, 0.0, -9.0],
    'base_orientation': [0.1, 0.2, 0.3],
    'friction': {'law': 'stribeck', 'viscous': [0.3, 0.4], 'coulomb': [0.5, 0.6]}
    | {'stribeck': [0.1, 0.2]},
    'rotor_inertia': [0.01, 0.02],
    'effort_scale': [2.0, -3.0],
    'effort_offset': [0.1, -0.2],
    'effort_delay': 0.003,
    'velocity_lag': 0.004,
}
IN_FILE = {
    'tip_link': LINK,
    'locked_joints': {'other': 0.5},
    'gravity': rotation_rpy(0.1, 0.2, 0.3).T @ [0.5, 0.0, -9.0],
    'viscous': [0.3, 0.4],
    'coulomb': [0.5, 0.6],
    'rotors': [0.01, 0.02],
    'friction': {'viscous': [0.3, 0.4], 'coulomb': [0.5, 0.6], 'stribeck': [0.1, 0.2]},
    'scale': [2.0, -3.0],
    'offset': [0.1, -0.2],
    'delay': 0.003,
    'lag': 0.004,
}
# Words of an option, and what it changes; a friction of an option replaces the law of the file.
OPTIONS = {
    '--tip-link': ('end', {'tip_link': 'end'}),
    '--lock': ('a=0.2 b', {'locked_joints': {'a': 0.2, 'b': 0.0}}),
    '--payload': (f'{LINK} 1.5 0.1 0.2 0.3', None),
    '--viscous': ('0.7 0', {'viscous': [0.7, 0.0], 'friction': None}),
    '--coulomb': ('0 0.8', {'coulomb': [0.0, 0.8], 'friction': None}),
    '--rotor-inertia': ('0.09', {'rotors': [0.09, 0.09]}),
    '--effort-scale': ('-4 5', {'scale': [-4.0, 5.0]}),
    '--effort-gravity-compensated': ('', {'compensated': True}),
    '--cutoff': ('7', {'cutoff': 7.0}),
    '--efforts': ('torques', {'efforts': 'torques'}),
}


def parser():
    parser = argparse.ArgumentParser()
    add_robot_changes(parser)
    add_efforts(parser)
    return parser


def meant(*words):
    """Return the values that a verb takes from its options."""
    options = parser().parse_args(list(map(str, words)))
    of_robot = chosen(options, options.params)
    model = changed(MODEL, options)
    efforts = measured(options, model)
    drives = efforts['drives']
    friction = drives.friction
    if isinstance(friction, JointFriction):
        friction = {name: np.asarray(x) for name, x in friction.coefficients.items()}
    return {
        **of_robot,
        'bodies': model.inertial_parameters(),
        'viscous': model.viscous,
        'coulomb': model.coulomb,
        'rotors': model.reflected_inertia,
        'friction': friction,
        'scale': efforts['effort_scale'],
        'compensated': efforts['effort_gravity_compensated'],
        'cutoff': efforts['cutoff'],
        'offset': drives.offset,
        'delay': drives.delay,
        'lag': drives.velocity_lag,
        'efforts': options.efforts,
    }


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_equal(found[name], value, err_msg=name)


@pytest.fixture(params=[False, True], ids=['', 'with a file'])
def given(request, tmp_path):
    """Return the words of a file of parameters, if there is one, and the values with it alone."""
    described = meant()
    if not request.param:
        return [], described
    (tmp_path / 'given.yaml').write_text(parameters_text(FILE))
    words = ['--params', tmp_path / 'given.yaml']
    assert_equal(meant(*words), described | IN_FILE)
    return words, described | IN_FILE


@pytest.mark.parametrize('option', OPTIONS)
def test_an_option_alone_changes_what_it_names_and_nothing_else(given, option):
    file, before = given
    words, change = OPTIONS[option]
    if change is None:
        loaded = MODEL.with_payload(LINK, 1.5, [0.1, 0.2, 0.3])
        change = {'bodies': loaded.inertial_parameters()}
    found = meant(*file, option, *words.split())
    assert_equal(found, before | change)
    # The order of the words is free.
    assert_equal(meant(option, *words.split(), *file), found)


@pytest.mark.parametrize('name', ['gravity', 'base-orientation'])
def test_gravity_and_orientation_of_the_base_are_replaced_alone(given, name):
    file, before = given
    values = {'gravity': FILE['gravity'], 'base-orientation': FILE['base_orientation']}
    if not file:
        values = {'gravity': [0.0, 0.0, -9.81], 'base-orientation': [0.0, 0.0, 0.0]}
    new = [1.0, -0.5, 2.0]
    values[name] = new
    gravity = rotation_rpy(*values['base-orientation']).T @ values['gravity']
    assert_equal(meant(*file, f'--{name}', *new), before | {'gravity': gravity})


def test_every_option_is_tried_alone():
    words = {word for action in parser()._actions for word in action.option_strings}
    others = {'-h', '--help', '--params', '--gravity', '--base-orientation'}
    assert words - others == OPTIONS.keys()
