# SPDX-License-Identifier: Apache-2.0
import pytest

from benchmarks.compiling import compile_all
from benchmarks.functions import FUNCTIONS
from benchmarks.measure_compile import recorded
from robot_dynamics.core.dynamics import Dynamics


@pytest.mark.slow
def test_every_function_is_compiled_and_counted(chain, tmp_path, monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path))
    made, given_up = compile_all(chain, batched=['gravity_torque'])
    assert given_up == []
    assert [m.function for m in made] == list(FUNCTIONS)
    arm = Dynamics(chain.model)
    for compilation in made:
        assert compilation.operations == recorded(arm, compilation.function).operation_counts()
        batched = compilation.function == 'gravity_torque'
        assert (compilation.batch_s is not None) == batched
    # They are in the cache now.
    assert len(list(tmp_path.glob('*.bin'))) > len(FUNCTIONS)
