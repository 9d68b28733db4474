# SPDX-License-Identifier: Apache-2.0
"""The examples run as they are, and print what they claim."""

import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pin_model
import pytest

from robot_dynamics.urdf.loading import load_urdf

EXAMPLES = Path(__file__).parents[2] / 'examples'


def output_of(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name='__main__')
    return capsys.readouterr().out


def test_every_example_is_run():
    others = (
        'ros/test_mit_drives.py',
        'ros/test_nodes_without_launch.py',
        'examples/test_record_simulated_arm.py',
        'examples/test_mit_frames.py',
        'examples/test_lerobot_follower.py',
    )
    files = [Path(__file__), *(Path(__file__).parents[1] / name for name in others)]
    tests = ''.join(file.read_text() for file in files)
    for path in EXAMPLES.iterdir():
        # test_notebooks.py runs the notebooks
        if path.name not in ('__pycache__', 'notebooks'):
            assert f"'{path.name}'" in tests


def test_from_dh(capsys):
    shown = output_of('from_dh.py', capsys)
    # The quill slides down, the drive pushes up: 1.2 kg times 9.81 m/s^2.
    assert re.search(r'gravity torque +\[ +0\. +0\. +-11\.772\]', shown)


@pytest.mark.slow
def test_control_laws(capsys):
    names = runpy.run_path(str(EXAMPLES / 'control_laws.py'))
    errors = names['main']()
    shown = capsys.readouterr().out
    for name, (exact, loaded) in errors.items():
        assert f'{name} ' in shown
        if name != 'gravity_only':
            assert exact < 1e-4 < loaded < 0.1
    # Gravity compensation alone holds the arm at rest, without tracking.
    assert errors['gravity_only'][0] == pytest.approx(0.8, abs=1e-6)


def test_batches_and_derivatives(capsys):
    shown = output_of('batches_and_derivatives.py', capsys)
    assert '(100, 50, 7)' in shown
    (error,) = re.findall(r'error of the linear model (\S+)', shown)
    assert float(error) < 1e-3


@pytest.mark.slow
def test_lqr_swing_up(capsys):
    swung, balanced = runpy.run_path(str(EXAMPLES / 'lqr_swing_up.py'))['main']()
    assert 'largest torque of the elbow' in capsys.readouterr().out
    # From hanging, 3 rad away, to where LQR balances, which a motor in the elbow alone does not
    # do at once.
    assert balanced < 0.1 * swung
    assert swung < 0.3


@pytest.mark.slow
def test_fit_payload(capsys):
    names = runpy.run_path(str(EXAMPLES / 'fit_payload.py'))
    found = names['main']()
    assert 'true' in capsys.readouterr().out
    # Friction by another rule within the step: first order in the step.
    for name, true in names['TRUE'].items():
        assert found[name] == pytest.approx(true, rel=0.05)


def test_reach_by_gradient(capsys):
    pytest.importorskip('jax')
    names = runpy.run_path(str(EXAMPLES / 'reach_by_gradient.py'))
    away, turned = names['main']()
    assert away < 1.1e-5
    assert turned < 5e-5
    # A rate that is too large stops the iteration, also where the cost becomes NaN.
    assert re.search(r'with a rate of 2: step \d+ diverges: the cost was', capsys.readouterr().out)
    with pytest.raises(RuntimeError, match='step 1 diverges: the cost was 1, and is nan'):
        names['descend'](lambda q: q[0] ** 0.5, np.ones(1), rate=4.0)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which('cc') is None, reason='needs a C compiler')
def test_mpc_casadi(capsys):
    pytest.importorskip('casadi')
    away, share = runpy.run_path(str(EXAMPLES / 'mpc_casadi.py'))['main']()
    assert 'distance of the tip' in capsys.readouterr().out
    # The target is reached; no torque is above its limit, and the limit matters.
    assert away < 1e-4
    assert 0.95 < share < 1 + 1e-6


def test_time_optimal(capsys):
    pytest.importorskip('toppra')
    uniform, optimal = runpy.run_path(str(EXAMPLES / 'time_optimal.py'))['main']()
    assert optimal.duration < 0.8 * uniform.duration
    assert 'time-optimal' in capsys.readouterr().out
    # By Pinocchio no torque is above its limit, and the drives are used.
    model = load_urdf('panda').with_payload('panda_link8', 2.0, com=[0, 0, 0.1])
    other = pin_model.PinRobot(model)
    q, qd, qdd = optimal.sample(np.linspace(0.0, optimal.duration, 2001))
    tau = np.array([other.inverse_dynamics(*row) for row in zip(q, qd, qdd, strict=True)])
    tau += model.viscous * qd + model.coulomb * np.tanh(qd / 1e-2)
    largest = (np.abs(tau) / model.effort_limit).max()
    assert 0.8 < largest <= 1 + 1e-6
    # The path is the same: both end where it ends.
    assert optimal.end.q == pytest.approx(uniform.end.q, abs=1e-9)
