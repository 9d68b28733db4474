# SPDX-License-Identifier: Apache-2.0
"""Motors that turn by several joints: file, and equation of motion in their coordinates."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.recordings import Coupling, CouplingError, Recording, read_coupling

RNG = np.random.default_rng
TX40 = share_file('config/tx40_coupling.yaml')
JOINTS = tuple(f'joint_{k}' for k in range(1, 7))
MODEL = replace(random_tree(6, RNG(3), prismatic=0.0), joint_names=JOINTS)


def written(folder, **changed):
    content = yaml.safe_load(TX40.read_text()) | changed
    content = {name: value for name, value in content.items() if value is not None}
    (folder / 'c.yaml').write_text(yaml.safe_dump(content))
    return folder / 'c.yaml'


def test_the_shaft_of_motor_6_turns_by_joints_5_and_6():
    coupling = read_coupling(TX40, JOINTS)
    q = RNG(0).uniform(-1, 1, 6)
    q_m = coupling.matrix @ q
    assert q_m[:5] == pytest.approx(q[:5])
    assert q_m[5] == pytest.approx(q[4] + q[5])
    assert coupling.ratios.tolist() == [32, 32, 45, -48, 45, 32]
    assert coupling.alone.tolist() == [1, 1, 1, 1, 0, 0]


def test_the_page_shows_the_file():
    page = Path(__file__).parents[2] / 'docs/guides/identification.md'
    (shown,) = re.findall(r'```yaml\n(joints: .*?)```', page.read_text(), re.DOTALL)
    assert yaml.safe_load(shown) == yaml.safe_load(TX40.read_text())


def test_the_order_of_joints_in_the_file_is_free(tmp_path):
    order = [3, 5, 0, 1, 4, 2]
    rows = np.array(yaml.safe_load(TX40.read_text())['matrix'])[np.ix_(order, order)]
    other = {
        'joints': [JOINTS[k] for k in order],
        'motors': [f'motor_{k + 1}' for k in order],
        'ratios': [[32, 32, 45, -48, 45, 32][k] for k in order],
        'matrix': rows.tolist(),
    }
    one, two = read_coupling(TX40, JOINTS), read_coupling(written(tmp_path, **other), JOINTS)
    assert one.motors == two.motors
    assert (one.matrix == two.matrix).all()
    assert (one.ratios == two.ratios).all()


ROWS = yaml.safe_load(TX40.read_text())['matrix']


@pytest.mark.parametrize(
    ('changed', 'message'),
    [
        ({'ratios': None}, r'entries are joints, matrix, motors; expected .*ratios'),
        ({'offsets': [0]}, r'entries are .*offsets.*; expected'),
        ({'joints': [*JOINTS[:5], 'joint_7']}, r'joints is .*joint_7; expected each of .*joint_6'),
        ({'joints': 'joint_1'}, r"joints is 'joint_1'; expected a list of names"),
        ({'motors': ['a', 'b']}, r'motors is a, b; expected 6 names'),
        ({'motors': ['a', *'abcde']}, r'motors is a, a, .*each once'),
        ({'motors': ['joint_1', *'abcde']}, r'motors is joint_1, .*that are no joints'),
        ({'ratios': [32, 32, 0, -48, 45, 32]}, r'ratio of motor_3 is 0'),
        ({'ratios': [32, 32]}, r'ratios is \[32, 32\]; expected 6 numbers'),
        ({'ratios': [32, 32, 1, 1, 1, float('inf')]}, r'ratios is .*; expected 6 numbers'),
        ({'matrix': ROWS[:5]}, r'matrix is .*; expected 6 rows, one per motor'),
        ({'matrix': [[1, 0], *ROWS[1:]]}, r'row 1 of matrix is \[1, 0\]; expected 6 numbers'),
        ({'matrix': [*ROWS[:5], list(ROWS[4])]}, r'matrix is .* singular'),
    ],
)
def test_errors_name_file_entry_and_value(tmp_path, changed, message):
    file = written(tmp_path, **changed)
    with pytest.raises(CouplingError, match=message) as error:
        read_coupling(file, JOINTS)
    assert str(error.value).startswith(str(file))


def random_coupling(seed=1):
    matrix = np.eye(6) + 0.4 * RNG(seed).uniform(-1, 1, (6, 6))
    return Coupling(JOINTS, tuple('abcdef'), np.array([3.0, -2.0, 1.0, 5.0, 4.0, -1.0]), matrix)


@pytest.mark.parametrize('sign', [1, -1])
def test_power_is_that_of_the_joints(sign):
    coupling, rng = random_coupling(), RNG(2)
    q, qd, tau = sign * rng.uniform(-1, 1, (3, 50, 6))
    seen = Recording(JOINTS, np.arange(50) * 0.01, q, qd, tau)
    one = coupling.recording(seen, efforts='torques')
    assert (one.qd * one.effort).sum(axis=1) == pytest.approx((qd * tau).sum(axis=1), rel=1e-12)
    # Currents are those of the motors: the torque of a shaft, times its ratio, acts on q_m.
    shafts = one.effort / coupling.ratios
    two = coupling.recording(replace(seen, effort=shafts), efforts='currents')
    assert two.effort == pytest.approx(one.effort, rel=1e-12)


def test_the_robot_of_the_motors_has_the_equation_of_motion_of_the_joints():
    coupling, rng = random_coupling(), RNG(4)
    joints, motors = Dynamics(MODEL), Dynamics(coupling.robot(MODEL))
    states = rng.uniform(-1, 1, (3, 20, 6))
    tau = joints.inverse_dynamics(*states)
    tau_m = motors.inverse_dynamics(*(x @ coupling.matrix.T for x in states))
    # tau = C^T tau_m
    assert tau_m @ coupling.matrix == pytest.approx(tau, rel=1e-9, abs=1e-9 * np.abs(tau).max())


def test_limits_of_motors_hold_all_positions_and_velocities_of_the_joints():
    coupling = random_coupling()
    model = replace(MODEL, lower=-RNG(5).uniform(0.5, 2, 6), upper=RNG(6).uniform(0.5, 2, 6))
    robot, corners = coupling.robot(model), RNG(7).integers(0, 2, (4000, 6))
    q_m = np.where(corners, model.upper, model.lower) @ coupling.matrix.T
    assert q_m.max(axis=0) == pytest.approx(robot.upper)
    assert q_m.min(axis=0) == pytest.approx(robot.lower)
    free = replace(model, lower=np.full(6, -np.inf), upper=np.full(6, np.inf))
    assert coupling.robot(free).upper.tolist() == [np.inf] * 6
