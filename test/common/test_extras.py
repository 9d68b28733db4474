# SPDX-License-Identifier: Apache-2.0
"""Packages of extras: their names are those of setup.py, and an error names the line to type."""

import importlib
import re
import sys

import pytest
from packaging.requirements import Requirement
from setup_extras import extras

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.extras import PACKAGES, ExtraMissing, install_line, needed


def names(requirements):
    return sorted(Requirement(requirement).name for requirement in requirements)


def test_the_packages_are_those_of_setup_py():
    for extra, packages in PACKAGES.items():
        known = names(extras()[extra])
        assert names(packages.replace("'", '').split()) == (
            ['mujoco'] if extra == 'sim' and 'mujoco' in known else known
        ), extra


def test_a_missing_package_names_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, 'sympy', None)
    line = re.escape(install_line('derive'))
    with (
        pytest.raises(ExtraMissing, match=line) as error,
        needed('derive', 'derivations need SymPy'),
    ):
        import sympy  # noqa: F401
    assert isinstance(error.value, ImportError)
    assert str(error.value).startswith('derivations need SymPy, which cannot be imported (')
    with (
        pytest.raises(ModelError, match=r"pip install '\.\[check\]'"),
        needed('check', 'meshes need trimesh', ModelError),
    ):
        raise ImportError('no module')


@pytest.mark.parametrize('library', ['jax', 'torch'])
def test_an_array_library_that_is_missing_names_the_line(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f'robot_dynamics.export.interop.{library}', raising=False)
    with pytest.raises(ExtraMissing, match=rf"pip install '\.\[{library}\]'"):
        importlib.import_module(f'robot_dynamics.export.interop.{library}')
