# SPDX-License-Identifier: Apache-2.0
"""Arms with motors that turn by several joints: identification, its files, and the nodes."""

import json
from dataclasses import replace

import numpy as np
import pytest
import tiers
import yaml

pytest.importorskip('rosbags')

from arms_to_identify import wrong
from elbow import ELBOW
from recorded_runs import lively, samples, write_bag

from robot_dynamics import cli
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.identification import PayloadRecording, identify
from robot_dynamics.recordings import Coupling, Recording, RecordingError
from robot_dynamics.ros.parameter_files import check_identified
from robot_dynamics.ros.parameters import ParameterError, joint_order
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

MODEL = parse_urdf(ELBOW)
MIRRORED = with_coordinates(MODEL, -np.eye(2), joint_names=MODEL.joint_names)
VISCOUS, COULOMB, ROTORS = np.array([0.5, 0.3]), np.array([0.6, 0.4]), np.array([0.05, 0.08])
MOTORS = ('motor_1', 'motor_2')
COM = (0.3, 0.0, 0.0)


def coupled(*, ratios=(20.0, -30.0), matrix=((1.0, 0.0), (-1.0, 1.0))):
    return Coupling(MODEL.joint_names, MOTORS, np.array(ratios), np.array(matrix))


def recorded_coupled(model, coupling, seed=1, noise=0.003, load=0.0):
    """Return recordings with torques of the joints, and with those of the motors' shafts."""
    t, q, qd, qdd = lively(model, 20.0, 250.0, seed)
    arm = Dynamics(wrong(model)).with_payload('forearm', load, COM)
    rigid = arm.inverse_dynamics(q, qd, qdd)
    C, rng = coupling.matrix, np.random.default_rng(100 + seed)
    qd_m, qdd_m = qd @ C.T, qdd @ C.T
    friction = VISCOUS * qd_m + COULOMB * np.tanh(qd_m / 0.01)
    # tau = rigid + C^T (B C qdd + friction(C qd)),  tau = C^T tau_m
    tau = rigid + (ROTORS * qdd_m + friction) @ C
    tau = tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape)
    joints = Recording(model.joint_names, t, q, qd, tau)
    return joints, replace(joints, effort=np.linalg.solve(C.T, tau.T).T / coupling.ratios)


def require_recovered(found):
    error = found.friction.error
    known = np.column_stack([VISCOUS, COULOMB])
    assert (np.abs(found.friction.coefficients - known) < 4 * error).all()
    assert error.max() < 0.05
    drives = found.drives
    assert (np.abs(drives.rotor_inertia - ROTORS) < 4 * drives.rotor_error).all()
    # That of the first joint is one with the inertia of its link.
    assert drives.rotor_error[1] < ROTORS[1] / 5
    assert found.validation.ratio < 0.05
    assert (found.validation.after_rms < 0.02 * found.validation.effort_rms).all()


@pytest.mark.parametrize(
    ('model', 'matrix'),
    [
        *tiers.slow_rows([(MODEL, ((1, 0), (-1, 1))), (MIRRORED, ((1, 0.4), (-0.7, 1)))]),
        *tiers.soak_rows([(MIRRORED, ((1, 0), (-1, 1))), (MODEL, ((1, 0.4), (-0.7, 1)))]),
    ],
    ids=['arm', 'mirrored, closed', 'mirrored', 'closed'],
)
def test_friction_and_rotors_of_coupled_motors_are_found(model, matrix):
    coupling = coupled(matrix=matrix)
    joints, shafts = recorded_coupled(model, coupling)
    of_torques = identify(Dynamics(model), joints, coupling=coupling)
    of_shafts = identify(
        Dynamics(model), shafts, efforts='currents', effort_scale=1.0, coupling=coupling
    )
    for found in (of_torques, of_shafts):
        assert found.model.joint_names == MOTORS
        require_recovered(found)
    # The bodies are those of the joints.
    truth = found.inertia.base.grouping[:, :20] @ wrong(model).inertial_parameters()
    rotors = found.inertia.base.grouping[:, 20:] @ ROTORS
    z = (found.inertia.base.value - truth - rotors) / found.inertia.base.error
    assert np.abs(z[found.inertia.base.determined]).max() < 4
    # Without the coupling friction of no joint explains them.
    blind = identify(Dynamics(model), joints)
    share = [v.after_rms / v.effort_rms for v in (blind.validation, of_torques.validation)]
    assert share[0].max() > 5 * share[1].max()


@pytest.mark.slow
def test_unknown_gains_of_currents_are_those_of_the_motors():
    coupling = coupled()
    _, shafts = recorded_coupled(MODEL, coupling)
    constant = np.array([0.08, 0.05])  # N m/A at the shafts
    currents = replace(shafts, effort=shafts.effort / constant)
    found = identify(Dynamics(MODEL), currents, efforts='currents', coupling=coupling)
    # The common factor is not identifiable: their quotient is.
    scale = found.drives.effort_scale
    assert scale[0] / scale[1] == pytest.approx(constant[0] / constant[1], rel=0.05)
    assert not found.drives.scale_known.any()
    _, loaded = recorded_coupled(MODEL, coupling, seed=2, load=2.0)
    loaded = replace(loaded, effort=loaded.effort / constant)
    found = identify(
        Dynamics(MODEL),
        currents,
        efforts='currents',
        coupling=coupling,
        payload=PayloadRecording(loaded, 'forearm', 2.0, COM),
    )
    assert found.drives.scale_known.all()
    assert (np.abs(found.drives.effort_scale - constant) < 4 * found.drives.scale_error).all()
    assert found.drives.effort_scale == pytest.approx(constant, rel=0.03)


@pytest.mark.slow
def test_a_coupling_of_each_motor_with_its_joint_changes_no_bit():
    joints, _ = recorded_coupled(MODEL, coupled())
    identity = coupled(ratios=(1, 1), matrix=np.eye(2))
    plain = identify(Dynamics(MODEL), joints)
    same = identify(Dynamics(MODEL), joints, coupling=identity)
    for name in ('theta', 'friction', 'offset', 'rotor', 'gain'):
        assert np.array_equal(getattr(same.fit.estimate, name), getattr(plain.fit.estimate, name))
        assert np.array_equal(getattr(same.fit.error, name), getattr(plain.fit.error, name))
    assert np.array_equal(same.validation.after, plain.validation.after)
    assert np.array_equal(same.validation.before, plain.validation.before)


def test_torques_of_coupled_joints_have_one_scale():
    joints, _ = recorded_coupled(MODEL, coupled())
    half = replace(joints, effort=joints.effort / 2)
    found = identify(Dynamics(MODEL), half, coupling=coupled(), effort_scale=2.0)
    require_recovered(found)
    with pytest.raises(RecordingError, match=r'effort_scale is \[1\.0, 2\.0\]; expected one'):
        identify(Dynamics(MODEL), joints, coupling=coupled(), effort_scale=[1.0, 2.0])


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Return the folder of files that the verb writes for three joints, two of them coupled."""
    folder = tmp_path_factory.mktemp('coupled')
    text = ELBOW.replace('</robot>', '') + (
        '<link name="hand"><inertial><origin xyz="0.05 0.02 0"/><mass value="0.5"/>'
        '<inertia ixx="0.002" iyy="0.003" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="wrist" type="revolute"><parent link="forearm"/><child link="hand"/>'
        '<origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-2" upper="2" effort="9" velocity="5"/></joint></robot>'
    )
    (folder / 'arm.urdf').write_text(text)
    model = load_urdf(folder / 'arm.urdf')
    matrix = np.array([[2.0, 0, 0], [0, 1, 0], [0, 1, 1]])
    t, q, qd, qdd = lively(model, 20.0, 200.0, 1)
    qd_m = qd @ matrix.T
    tau = Dynamics(wrong(model)).inverse_dynamics(q, qd, qdd)
    tau = tau + (0.3 * qd_m + 0.4 * np.tanh(qd_m / 0.01)) @ matrix
    names = model.joint_names
    bag = write_bag(folder / 'bag', {'/joint_states': samples(names, t, q, qd, tau)})
    content = {
        'joints': list(names),
        'motors': ['m1', 'm2', 'm3'],
        'ratios': [1, 1, 1],
        'matrix': matrix.tolist(),
    }
    (folder / 'c.yaml').write_text(yaml.safe_dump(content))
    words = ['identify', bag, '--robot', folder / 'arm.urdf', '--coupling', folder / 'c.yaml']
    words += ['--output', folder / 'out.urdf', '--json', folder / 'out.json']
    assert cli.main([str(word) for word in words]) == 0
    return folder


@pytest.mark.slow
def test_the_urdf_has_the_friction_of_motors_that_turn_by_one_joint(files):
    before, after = load_urdf(files / 'arm.urdf'), load_urdf(files / 'out.urdf')
    figures = json.loads((files / 'out.json').read_text())
    first = figures['joints'][0]
    # q_m = 2 q: friction of the joint is 4 times the viscous, twice the dry friction of the motor
    assert after.viscous[0] == pytest.approx(4 * first['viscous'], rel=1e-8)
    assert after.coulomb[0] == pytest.approx(2 * first['coulomb'], rel=1e-8)
    assert after.viscous[0] == pytest.approx(1.2, abs=0.1)
    assert (after.viscous[1:] == before.viscous[1:]).all()
    assert (after.coulomb[1:] == before.coulomb[1:]).all()
    assert (after.mass != before.mass).all()
    assert any('coupled: m2, m3' in note for note in figures['notes'])


def test_nodes_reject_parameters_of_motors_and_take_the_urdf(files):
    text = (files / 'out.yaml').read_text()
    parameters = yaml.safe_load(text)['/**']['ros__parameters']
    assert parameters['joints'] == ['m1', 'm2', 'm3']
    assert parameters['coupling']['matrix'] == [2, 0, 0, 0, 1, 0, 0, 1, 1]
    assert 'The nodes reject this file' in text
    urdf = (files / 'out.urdf').read_bytes()
    with pytest.raises(ParameterError, match=r'joints is m1, m2, m3; .* coupled motors .*--coupl'):
        check_identified(urdf, text)


def test_a_coupling_that_does_not_fit_is_an_error_of_its_file(files, tmp_path, capsys):
    (tmp_path / 'c.yaml').write_text((files / 'c.yaml').read_text().replace('wrist', 'hand'))
    words = ['identify', files / 'bag', '--robot', files / 'arm.urdf']
    assert cli.main([*map(str, words), '--coupling', str(tmp_path / 'c.yaml')]) == 2
    assert 'c.yaml: joints is shoulder, elbow, hand; expected' in capsys.readouterr().err
    assert cli.main([*map(str, words), '--coupling', str(tmp_path / 'no.yaml')]) == 2
    assert 'no.yaml' in capsys.readouterr().err


def test_motors_are_not_named_as_joints_to_lock():
    joints, shafts = recorded_coupled(MODEL, coupled())
    still = replace(shafts, q=np.broadcast_to(shafts.q[0], shafts.q.shape), qd=None)
    with pytest.raises(RecordingError, match='2 of 2 joints do not move enough') as raised:
        identify(Dynamics(MODEL), still, efforts='currents', coupling=coupled())
    assert '--lock' not in str(raised.value)
    still = replace(joints, q=still.q, qd=None)
    with pytest.raises(RecordingError, match=f'--lock {MODEL.joint_names[0]}='):
        identify(Dynamics(MODEL), still)


def test_joints_of_another_robot_may_be_coupled_motors():
    with pytest.raises(ParameterError, match='they are of another robot, or of coupled motors'):
        joint_order(('a', 'b'), MODEL.joint_names)
