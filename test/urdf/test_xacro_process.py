# SPDX-License-Identifier: Apache-2.0
"""Xacro files: arguments, packages without ROS, bounds of time and memory, and errors."""

import sys
import time
import warnings

import pytest
import urdf_text

from robot_dynamics.common.errors import ModelError
from robot_dynamics.urdf import xacro_process
from robot_dynamics.urdf.loading import load_urdf, parse_urdf
from robot_dynamics.urdf.loading import urdf_text as text_of
from robot_dynamics.urdf.xacro_process import xacro_arguments

HEAD = '<robot name="test" xmlns:xacro="http://www.ros.org/wiki/xacro">'
CHAIN = urdf_text.chain(urdf_text.LIMIT)
BODY = CHAIN.partition('>')[2].rpartition('</robot>')[0]
ARGUMENTS = '<xacro:arg name="upper" default="2"/><xacro:arg name="speed" default="3"/>'


@pytest.fixture(autouse=True)
def _without_ros(monkeypatch, tmp_path):
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    monkeypatch.setenv('HOME', str(tmp_path))


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(text, name='arm.xacro'):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write


def with_arguments(upper='$(arg upper)'):
    limited = BODY.replace('upper="2"', f'upper="{upper}"').replace('y="3"', 'y="$(arg speed)"')
    return f'{HEAD}{ARGUMENTS}{limited}</robot>'


def test_arguments_replace_defaults_alone_together_and_not_in_the_next_call(write):
    file = write(with_arguments())
    for given in ({}, {'upper': '1.5'}, {'speed': '7'}, {'upper': '0.5', 'speed': '9'}, {}):
        model = load_urdf(file, xacro_arguments=given)
        expected = float(given.get('upper', 2)), float(given.get('speed', 3))
        assert (model.upper.item(), model.velocity_limit.item()) == expected


def test_a_missing_argument_is_named_with_the_form_in_which_it_is_given(write):
    file = write(with_arguments('$(arg reach)'))
    with pytest.raises(ModelError) as caught:
        load_urdf(file)
    assert str(caught.value) == (
        f"{file}: the xacro argument 'reach' is missing; expected reach:=VALUE; its arguments, "
        'given as name:=value: speed, upper'
    )
    assert load_urdf(file, xacro_arguments={'reach': '1'}).upper == 1


def test_a_missing_value_that_surfaces_as_a_wrong_path_comes_with_the_arguments(write):
    include = '<xacro:include filename="$(arg series).xacro"/></robot>'
    file = write(f'{HEAD}<xacro:arg name="series" default="none"/>{include}')
    with pytest.raises(ModelError, match=r'none\.xacro.*given as name:=value: series$'):
        load_urdf(file)
    with pytest.raises(ModelError, match=r': series; given, and not read up to here: sereis$'):
        load_urdf(file, xacro_arguments={'sereis': 'ur'})


def test_an_argument_that_the_file_does_not_use_is_a_warning(write):
    file = write(with_arguments())
    with pytest.warns(UserWarning, match='does not use xacro arguments uper; .*: speed, upper$'):
        load_urdf(file, xacro_arguments={'uper': '1', 'speed': '2'})
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        load_urdf(file, xacro_arguments={'upper': '1', 'speed': '2'})


@pytest.mark.parametrize('words', [['upper'], ['upper=1'], [':=1'], ['a b:=1'], ['a:=1', 'a:=1']])
def test_malformed_arguments_are_rejected(words):
    with pytest.raises(ModelError, match='expected'):
        xacro_arguments(words)


def test_values_keep_their_characters():
    assert xacro_arguments(['a:=', 'b.c-d:=x:=y z']) == {'a': '', 'b.c-d': 'x:=y z'}


def test_arguments_that_are_no_text_or_for_a_urdf_are_rejected(write):
    with pytest.raises(ModelError, match=r"'upper' is 1\.5; expected text, such as '1\.5'"):
        load_urdf(write(with_arguments()), xacro_arguments={'upper': 1.5})
    with pytest.raises(ModelError, match=r"is \['upper:=1'\]; expected values by name"):
        load_urdf(write(with_arguments()), xacro_arguments=['upper:=1'])
    with pytest.raises(ModelError, match=r'arm\.urdf: xacro arguments are given \(upper\)'):
        load_urdf(write(CHAIN, 'arm.urdf'), xacro_arguments={'upper': '1'})


def test_one_path_is_no_list_of_folders(write, tmp_path):
    for folder in (tmp_path, str(tmp_path)):
        with pytest.raises(ModelError, match=r'package_paths is .*; expected a list of folders'):
            load_urdf(write(with_arguments()), package_paths=folder)


INCLUDING = HEAD + '<xacro:include filename="{}"/><xacro:arm/></robot>'
MACRO = f'{HEAD}<xacro:macro name="arm">{BODY}</xacro:macro></robot>'


def test_find_in_a_checkout_of_another_name(write):
    write('<package><name>arm_description</name></package>', 'ws/arm-main/package.xml')
    write(MACRO, 'ws/arm-main/macro.xacro')
    text = INCLUDING.format('$(find arm_description)/macro.xacro')
    file = write(text, 'ws/cell/urdf/cell.urdf.xacro')
    assert load_urdf(file).fingerprint() == parse_urdf(CHAIN).fingerprint()


def test_find_in_a_given_folder_or_a_message_where_it_was_searched(write, tmp_path):
    write('<package><name>arm_description</name></package>', 'far/repo/arm/package.xml')
    write(MACRO, 'far/repo/arm/macro.xacro')
    file = write(INCLUDING.format('$(find arm_description)/macro.xacro'), 'near/cell.xacro')
    with pytest.raises(
        ModelError, match=r'\$\(find arm_description\): no package.*--package-path'
    ):
        load_urdf(file)
    model = load_urdf(file, package_paths=[tmp_path / 'far' / 'repo'])
    assert model.fingerprint() == parse_urdf(CHAIN).fingerprint()


def test_a_file_of_macros_names_them_and_what_is_expected(write):
    with pytest.raises(ModelError, match=r'defines no link, only macros \(arm\); expected the'):
        load_urdf(write(MACRO))
    file = write(f'{HEAD}<xacro:arg name="arm" default="none"/></robot>')
    with pytest.raises(
        ModelError, match=r'defines no link; expected a robot; .*name:=value: arm$'
    ):
        load_urdf(file)


# Python evaluates the power without a chance to be interrupted.
@pytest.mark.parametrize('value', ['${9**9**9**9}', '${len([0 for _ in range(10**12)])}'])
def test_an_endless_file_ends_at_the_bound_of_time(write, monkeypatch, value):
    monkeypatch.setattr(xacro_process, 'MAX_SECONDS', 0.5)
    began = time.monotonic()
    with pytest.raises(ModelError, match=r'arm\.xacro: xacro takes more than 0\.5 s'):
        load_urdf(write(f'{HEAD}<xacro:property name="x" value="{value}"/>${{x}}</robot>'))
    assert time.monotonic() - began < 20


def test_a_file_that_takes_all_memory_ends_at_the_bound(write, monkeypatch):
    monkeypatch.setattr(xacro_process, 'MAX_MEMORY', 256 << 20)
    with pytest.raises(ModelError, match=r'takes more than 0\.25 GiB of memory'):
        load_urdf(write(f'{HEAD}<a b="${{len(list(range(10**10)))}}"/></robot>'))
    load_urdf(write(with_arguments()))


def test_a_process_that_cannot_start_is_an_error(write, monkeypatch):
    monkeypatch.setattr(xacro_process, 'MAX_MEMORY', 1 << 20)
    with pytest.raises(ModelError, match=r'exit code|memory'):
        load_urdf(write(with_arguments()))


def test_modules_of_the_working_folder_are_not_imported(write, tmp_path, monkeypatch):
    if sys.version_info < (3, 11):
        pytest.skip('PYTHONSAFEPATH is of Python 3.11')
    write('raise RuntimeError', 'xacro.py')
    monkeypatch.chdir(tmp_path)
    load_urdf(write(with_arguments()))


def test_the_state_of_xacro_in_this_process_is_not_changed(write):
    from xacro import substitution_args

    before = substitution_args._eval_find
    text_of(write(with_arguments()))
    assert substitution_args._eval_find is before
