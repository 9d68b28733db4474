# SPDX-License-Identifier: Apache-2.0
"""Files of identified servos, each read by what they are for."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import servo_arms
import yaml
from servo_arms import commands, drawn_servos, positions, recording, table_arm, table_arm_urdf

from robot_dynamics import parse_urdf
from robot_dynamics.common.errors import ModelError
from robot_dynamics.identification.servo.arm_loads import bare
from robot_dynamics.identification.servo.free_run import at_samples, free_run
from robot_dynamics.identification.servo.joint_fit import INDEX
from robot_dynamics.identification.servo.servo_files import (
    ServoTorques,
    servo_isaaclab,
    servo_mjcf,
    servo_parameters,
    servo_urdf,
)
from robot_dynamics.identification.servo.servo_identification import identify_servo
from robot_dynamics.identification.servo.servo_runs import runs_of
from robot_dynamics.ros.parameter_files import check_identified


@functools.cache
def recorded():
    servos = drawn_servos(2, 3)
    t, u = commands(servo_arms.mix, 2, 15.0, 3)
    return servos, recording(t, u, positions(servos, t, u))


def written(found):
    """Return the parameters of the joints as the files have them."""
    servo, p = ServoTorques(found), found.parameters.copy()
    p[:, INDEX['stiffness']] = servo.kp
    for name, x in (('lag', servo.damping), ('armature', servo.armature)):
        p[:, INDEX[name]] = x / servo.kp
    return list(p)


@functools.cache
def identified():
    return identify_servo(table_arm(2), [recorded()[1]])


def test_assumed_stiffness_is_not_too_small_for_the_inertia():
    # pan needs 50 times the kp of lift
    found = identified()
    p, J = found.parameters.copy(), found.inertia.copy()
    p[0, INDEX['stiffness']] = 50 * p[1, INDEX['stiffness']]
    J[0] = 0.5 * found.ratios['armature'][0] * p[0, INDEX['stiffness']]
    servo = ServoTorques(replace(found, parameters=p, inertia=J))
    assert servo.assumed[0]
    # (A + J) / kp, which the motion shows
    moved = (servo.armature[0] + J[0]) / servo.kp[0]
    assert moved == pytest.approx(1.5 * found.ratios['armature'][0])
    assert servo.armature[0] >= 0


def test_stiffness_of_an_angle_is_not_assumed_for_a_stroke():
    # pan, whose scale is not identifiable, as a linear joint beside an angular one
    urdf = table_arm_urdf(2).replace('revolute', 'prismatic', 1)
    with pytest.raises(ModelError, match='torque scale not identifiable on pan, nor on another'):
        servo_parameters(replace(identified(), model=parse_urdf(urdf)))


def test_urdf_and_parameters_load_and_have_the_values():
    servos, found = recorded()[0], identified()
    urdf = servo_urdf(found, table_arm_urdf(2).encode())
    model = parse_urdf(urdf)
    assert model.viscous[1] == pytest.approx(servos['D'][1], rel=0.02)
    assert model.coulomb[1] == pytest.approx(servos['fc'][1], rel=0.05)
    text = servo_parameters(found, recordings=['run'])
    check_identified(urdf, text)
    servo = yaml.safe_load(text)['/identification']['ros__parameters']['servo']
    assert list(servo) == [
        'kp',
        'damping',
        'armature',
        'coulomb',
        'delay',
        'torque_limit',
        'assumed_scale',
    ]
    assert servo['assumed_scale'] == [True, False]
    # The joint without gravity has the kp of the other, and its own ratios.
    assert servo['kp'][0] == servo['kp'][1]
    assert servo['damping'][0] / servo['kp'][0] == pytest.approx(found.ratios['lag'][0])
    assert '# assumed_scale: pan' in text


def test_assumed_scale_keeps_the_whole_inertia_in_proportion():
    servos, found = recorded()[0], identified()
    servo = yaml.safe_load(servo_parameters(found))['/identification']['ros__parameters']['servo']
    J = found.inertia[0]
    true = (servos['A'][0] + J) / servos['kp'][0]
    assert (servo['armature'][0] + J) / servo['kp'][0] == pytest.approx(true, rel=0.03)


def test_isaac_lab_file_has_an_actuator_of_each_joint():
    made = []

    class Configuration(dict):
        def __init__(self, **fields):
            super().__init__(fields)
            made.append(self)

    text = servo_isaaclab(identified())
    names = {'DelayedPDActuatorCfg': Configuration}
    exec(text.replace('from isaaclab.actuators import DelayedPDActuatorCfg', ''), names)
    assert list(names['ACTUATORS']) == ['pan', 'lift']
    found = identified()
    for j, one in enumerate(made):
        assert one['damping'] == 0
        assert one['viscous_friction'] / one['stiffness'] == pytest.approx(found.ratios['lag'][j])
        assert (
            one['min_delay'] == one['max_delay'] == round(found.delay[j] / names['PHYSICS_STEP'])
        )
    assert 'clips the sum of stiffness and damping' in text
    assert '# assumed_scale: pan' in text


@pytest.mark.parametrize('limit', [0.08, None])
def test_mujoco_moves_as_our_simulation_does(limit):
    mujoco = pytest.importorskip('mujoco')
    found = identified()
    if limit is not None:  # far below the distances from the command: saturated half of the time
        p = found.parameters.copy()
        p[:, INDEX['limit']] = limit
        found = replace(
            found,
            parameters=p,
            ratios={**found.ratios, 'limit': np.full(2, limit)},
        )
    one = recorded()[1]
    model = mujoco.MjModel.from_xml_string(servo_mjcf(found))
    data = mujoco.MjData(model)
    assert model.actuator_delay == pytest.approx(found.delay)
    assert not model.actuator_biasprm[:, 2].any()  # kv
    data.ctrl[:] = one.command[0]
    for _ in range(100):  # until the delayed commands, 0 at first, are those of the start
        mujoco.mj_step(model, data)
    data.qpos[:], data.qvel[:] = one.q[0], 0
    rows, begin = [], data.time
    for k, t in enumerate(one.t):
        while data.time - begin < t - 1e-9:
            data.ctrl[:] = one.command[k - 1]
            mujoco.mj_step(model, data)
        rows.append(data.qpos.copy())
    run = runs_of([one])[0]
    ours = at_samples(run, free_run(bare(table_arm(2)), [run], written(found))[0])
    later = one.t > 0.5
    rms = np.sqrt(((np.array(rows) - ours)[later] ** 2).mean(axis=0))
    assert (rms < 1.5e-3).all()
    assert np.abs(one.command - ours).max() > (3 * limit if limit else 0.2)


def test_files_need_every_joint_and_a_scale():
    found = identified()
    lacking = replace(found, refused={'pan': 'it travels 0'})
    unscaled = replace(found, scale=('torque scale not identifiable: no gravity',) * 2)
    for make in (servo_parameters, servo_mjcf, servo_isaaclab):
        with pytest.raises(ModelError, match='not identified: pan; expected all joints'):
            make(lacking)
        with pytest.raises(ModelError, match='not identifiable on any joint: expected --kp'):
            make(unscaled)
