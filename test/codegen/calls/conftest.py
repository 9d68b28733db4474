# SPDX-License-Identifier: Apache-2.0
"""What all tests of compiling share."""

import pytest
from compiling import *  # noqa: F403  (fixtures)

from robot_dynamics.codegen.calls import native_wrapper


@pytest.fixture
def native(monkeypatch):
    """Require the native call wrapper."""
    if native_wrapper.why_not():
        pytest.skip(native_wrapper.why_not())
    monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', 'native')
