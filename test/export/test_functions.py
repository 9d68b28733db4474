# SPDX-License-Identifier: Apache-2.0
"""Text of a model in generated source: in comments, which it does not end."""

import re
from dataclasses import replace

import pytest
from c_compilers import compile_c, each_compiler

from robot_dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.export.c_header import c_files
from robot_dynamics.export.casadi_source import casadi_files
from robot_dynamics.export.cuda_source import cuda_files
from robot_dynamics.export.functions import functions, plain

# The first two are `*/` after lines are joined; `??/` is a backslash.
ATTACKS = [
    *('*\\\n/ injected /*', '*??/\n/ injected /*', '*/ injected /*', '**// injected //**'),
    *('???/\n*/ injected', '\ninjected\n', '\r*/injected', '\u2028*/ injected', '*\\', '??/'),
]
# Escape, a letter from the right to the left, and its marks
STRANGE = '\x1b[31m\x00\u202e\u05d0\u202c"%d\\n${CMAKE}'


def named(text):
    """Return an arm whose names are all a text."""
    model = planar_2r()
    frames = (*model.frame_names[:-1], text)
    links = tuple(text if name == model.frame_names[-1] else name for name in model.link_names)
    joints = tuple(f'{text}{name}' for name in model.joint_names)
    return Dynamics(
        replace(model, name=text, joint_names=joints, frame_names=frames, link_names=links)
    )


def in_c(arm, link):
    exported = functions(arm, ['gravity_torque', 'jacobian'], link, ['payload'], link)
    return c_files(arm, exported, 'arm', 'double', version='0', self_test=True)


def in_casadi(arm, link):
    exported = functions(arm, ['forward_kinematics'], link)
    return casadi_files(arm, exported, 'arm', version='0')


def in_cuda(arm, link):
    exported = functions(arm, ['gravity_torque', 'jacobian'], link, ['payload'], link)
    return cuda_files(arm, exported, 'arm', version='0')


def code_of(text):
    """Return what a compiler of C compiles: without trigraphs, joined lines, comments, names."""
    text = re.sub(r'\\\r?\n', '', text.replace('??/', '\\'))
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL)
    return re.sub(r'(joint_names\[ARM_N\] = \{)\s*("([^"\\]|\\[0-7]{3})*",?\s*)*', r'\1', text)


@pytest.mark.parametrize('language', [in_c, in_casadi, in_cuda])
def test_names_change_no_code(language):
    expected = {file: code_of(text) for file, text in language(named('arm'), 'arm').items()}
    for text in (*ATTACKS, STRANGE):
        files = language(named(text), text)
        assert all(file.isascii() for file in files.values())
        found = {file: code_of(file_text) for file, file_text in files.items()}
        assert found == expected, text


@each_compiler
def test_a_header_with_names_that_would_end_comments_is_compiled(tmp_path, kind):
    for file, text in in_c(named(ATTACKS[0]), ATTACKS[0]).items():
        (tmp_path / file).write_text(text)
    done = compile_c(kind, tmp_path / 'arm_self_test.c', tmp_path / 't', '-trigraphs')
    assert done.returncode == 0, done.stderr


def test_letters_digits_and_what_joins_them_are_kept():
    assert plain('Arm_2.5 left-hand') == 'Arm_2.5 left-hand'
    assert plain('left/arm(1)*\u03a9\n') == 'left_arm_1____'
    assert plain('') == ''
