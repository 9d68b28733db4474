# SPDX-License-Identifier: Apache-2.0
"""Evaluation of recorded efforts of a known robot: errors of the model are found, no others."""

import re
from dataclasses import replace

import numpy as np
import pytest
from recorded_runs import lively, samples, torque
from tiers import slow, soak

from robot_dynamics.common.errors import FrameNotFound, ShapeError
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.evaluation import evaluate, text
from robot_dynamics.recordings import Recording, RecordingError, by_joint
from robot_dynamics.recordings.drives import Drives
from robot_dynamics.recordings.smoothing import low_pass
from robot_dynamics.simulation import HardwareProfile, load_profile
from robot_dynamics.urdf.loading import load_urdf

RATE, CUTOFF = 500.0, 20.0
NOISE = 0.2  # N m, of the efforts
VELOCITY_NOISE = 2e-3  # rad/s
POSITION_NOISE = 1e-5  # rad
LINK = 'panda_link8'
MODEL = load_urdf(share_file('urdf/panda.urdf')).with_actuation(
    viscous=2.0, coulomb=3.0, rotor_inertia=0.2
)
ARM = Dynamics(MODEL)
NAMES = MODEL.joint_names


def recorded(true, seed=0, *, noise=NOISE, motion_noise=1.0, scale=1.0, late=0.0, model=MODEL):
    """Return what a robot records on a lively motion."""
    rng = np.random.default_rng(1000 + seed)
    t, q, qd, qdd = lively(model, rate=RATE, seed=seed)
    tau = torque(true, q, qd, qdd)
    tau = np.array([np.interp(t - late, t, x) for x in tau.T]).T
    q = q + motion_noise * POSITION_NOISE * rng.normal(size=q.shape)
    qd = qd + motion_noise * VELOCITY_NOISE * rng.normal(size=q.shape)
    effort = (tau + noise * rng.normal(size=q.shape)) / scale
    return Recording(model.joint_names, t, q, qd, effort)


def only_cause(found, kind, place=''):
    """Return the only cause; it must be of that kind."""
    assert [(cause.kind, cause.place) for cause in found.causes] == [(kind, place)], text(found)
    return found.causes[0]


def assert_close(values, errors, true, relative=5e-3):
    """Check estimates by their own standard deviations; noise in qd costs a bit more."""
    allowed = 5 * errors + relative * np.abs(true)
    assert (np.abs(values - true) <= allowed).all(), (values, errors, true)


@pytest.mark.slow
@pytest.mark.parametrize('seed', [0, *soak([1])])
def test_an_exact_model_has_no_causes(seed):
    found = evaluate(ARM, recorded(MODEL, seed))
    assert found.causes == (), text(found)
    assert (found.explained > 0.999).all()
    assert np.abs(found.bias).max() < 0.02
    assert np.allclose(found.unexplained, found.rms_residual, rtol=0.1)


def of_noisy_motion(true, seed, share, *, model=MODEL):
    """Return what a robot records at 100 Hz: noise is a share of each standard deviation."""
    rng = np.random.default_rng(500 + seed)
    t, q, qd, qdd = lively(model, duration=40, rate=100.0, seed=seed)
    tau = torque(true, q, qd, qdd)
    q, qd = (x + share * x.std(axis=0) * rng.normal(size=x.shape) for x in (q, qd))
    effort = tau + 0.005 * tau.std(axis=0) * rng.normal(size=tau.shape)
    return Recording(model.joint_names, t, q, qd, effort)


def test_a_cutoff_far_above_the_motion_gives_no_causes():
    found = evaluate(ARM, of_noisy_motion(MODEL, 0, 0.02), cutoff=20.0)
    assert (found.searched, found.causes) == (False, ())
    assert 'causes are not searched: the motion ends at 2.5 Hz' in text(found)


def test_causes_are_not_searched_if_torques_and_efforts_cannot_be_compared():
    arm = Dynamics(MODEL.with_gravity((0.0, 0.0, -1e12)))
    found = evaluate(arm, of_noisy_motion(MODEL, 0, 0.01))
    assert (found.searched, found.causes) == (False, ())
    assert 'causes are not searched: torques of the model are' in text(found)


def heavier(body, factor):
    mass, tensor = MODEL.mass.copy(), MODEL.inertia_com.copy()
    mass[body] *= factor
    tensor[body] *= factor
    return replace(MODEL, mass=mass, inertia_com=tensor)


@pytest.mark.parametrize('case', [*slow([(2, 1.15)]), *soak([(3, 1.3), (4, 0.8)])])
def test_a_wrong_inner_link_is_not_taken_for_gravity_or_scales(case):
    body, factor = case
    found = evaluate(ARM, of_noisy_motion(heavier(body, factor), 1, 0.01))
    cause = only_cause(found, 'inertia', f'panda_link{body + 1}')
    assert cause.value.shape == (10,)
    more = (factor - 1) * MODEL.mass[body]
    assert_close(cause.value[:1], cause.error[:1], np.array([more]), relative=0.02)
    side = 'light' if more > 0 else 'heavy'
    assert re.search(rf'; the link is [01].\d+ ± 0.\d+ kg too {side}', text(found))


@pytest.mark.parametrize('seed', soak([3, 4, 5]))
def test_causes_of_many_wrong_links_make_no_joint_worse_and_cover_the_truth(seed):
    profile = load_profile(share_file('config/realistic_panda.yaml'))
    true = profile.actual(MODEL, seed=seed)
    found = evaluate(ARM, of_noisy_motion(true, seed, 0.005))
    of_links = [cause for cause in found.causes if cause.kind in ('inertia', 'load')]
    assert of_links, text(found)
    assert (found.unexplained < 1.25 * found.rms_residual).all(), text(found)
    for cause in of_links:
        i = MODEL.nb - 1 if cause.place == LINK else MODEL.body_names.index(cause.place)
        more = true.mass[i] - MODEL.mass[i]
        assert abs(cause.value[0] - more) < 3 * cause.error[0], text(found)


IMPOSSIBLE = {
    # Larger than rotor inertia and friction of the model: the sums are negative.
    'rotor inertia': lambda q, qd, qdd: -0.3 * qdd,
    'viscous friction': lambda q, qd, qdd: -3.0 * qd,
    'dry friction': lambda q, qd, qdd: -4.0 * np.tanh(qd / 0.01),
    # As if it were 10.4 m/s^2.
    'gravity': lambda q, qd, qdd: 0.06 * ARM.gravity_torque(q),
}


@pytest.mark.parametrize(
    'kind', [*slow(['rotor inertia', 'gravity']), *soak(['viscous friction', 'dry friction'])]
)
def test_physically_impossible_causes_are_not_named(kind):
    t, q, qd, qdd = lively(MODEL, rate=RATE)
    tau = torque(MODEL, q, qd, qdd) + IMPOSSIBLE[kind](q, qd, qdd)
    tau += NOISE * np.random.default_rng(0).normal(size=tau.shape)
    found = evaluate(ARM, Recording(NAMES, t, q, qd, tau))
    assert kind not in {cause.kind for cause in found.causes}
    assert found.doubtful
    assert 'not determined by this recording' in text(found)


@pytest.mark.slow
def test_causes_of_a_part_of_the_time_are_not_named():
    """Friction that a joint has in one third of the recording only, as before it is warm."""
    t, q, qd, qdd = lively(MODEL, rate=RATE)
    tau = torque(MODEL, q, qd, qdd)
    tau[t < 7, 3] += 1.9 * np.sign(qd[t < 7, 3])
    tau += NOISE * np.random.default_rng(0).normal(size=tau.shape)
    found = evaluate(ARM, Recording(NAMES, t, q, qd, tau))
    assert found.causes == (), text(found)
    assert found.doubtful
    assert 'not determined by this recording: no cause is valid in all parts of it' in text(found)


@pytest.mark.slow
def test_the_residual_of_an_exact_model_is_the_noise_that_passes():
    found = evaluate(ARM, recorded(MODEL, motion_noise=0), cutoff=CUTOFF)
    noise = NOISE * np.random.default_rng(1).normal(size=(20_000, 1))
    passed = low_pass(noise, CUTOFF, 1 / RATE)
    # 20 s at 20 Hz are 800 independent samples: their root mean square is good to 2.5 %.
    assert np.allclose(found.rms_residual, rms(passed), rtol=0.12)
    # Jumps are above the cut-off frequency as well.
    assert (found.removed > 0.98 * rms(noise - passed)).all()


@pytest.mark.slow
def test_without_noise_the_residual_is_small():
    found = evaluate(ARM, recorded(MODEL, noise=0, motion_noise=0))
    assert found.causes == ()
    assert (found.rms_residual < 2e-3 * found.rms_effort).all()


@pytest.mark.parametrize('seed', [0])
@pytest.mark.parametrize(
    ('kind', 'drives', 'value'),
    [
        ('dry friction', {'coulomb': [3, 3, 3, 1.9, 3, 3, 3]}, -1.1),
        *(
            pytest.param(*values, marks=pytest.mark.soak)
            for values in (
                ('dry friction', {'coulomb': [3, 3, 3, 4.9, 3, 3, 3]}, 1.9),
                ('viscous friction', {'viscous': [2, 2, 2, 3.5, 2, 2, 2]}, 1.5),
                ('rotor inertia', {'rotor_inertia': [0.2, 0.2, 0.2, 0.7, 0.2, 0.2, 0.2]}, 0.5),
            )
        ),
    ],
)
def test_an_error_of_a_drive_is_found(kind, drives, value, seed):
    found = evaluate(ARM, recorded(MODEL.with_actuation(**drives), seed))
    cause = only_cause(found, kind, 'panda_joint4')
    assert_close(cause.value, cause.error, np.array([value]))
    assert cause.joint == 'panda_joint4'
    assert cause.size == pytest.approx(found.rms_residual[3], rel=0.05)
    assert found.unexplained[3] < 0.15
    verb = 'overestimates' if value < 0 else 'underestimates'
    said = re.search(rf'panda_joint4: the model {verb} {kind} by (\S+) ± \S+ ', text(found))
    assert float(said[1]) == pytest.approx(abs(value), rel=0.01)


@pytest.mark.slow
def test_a_model_without_friction_and_rotors_underestimates_all_of_them():
    bare = Dynamics(load_urdf(share_file('urdf/panda.urdf')).with_actuation(viscous=0, coulomb=0))
    found = evaluate(bare, recorded(MODEL))
    values = {(c.kind, c.place): c for c in found.causes}
    wanted = {'dry friction': 3.0, 'viscous friction': 2.0, 'rotor inertia': 0.2}
    # The rotor of the second joint makes less than 2 % of its effort.
    small = {('rotor inertia', 'panda_joint2')}
    assert values.keys() == {(kind, name) for kind in wanted for name in NAMES} - small
    for (kind, _), cause in values.items():
        assert_close(cause.value, cause.error, np.array([wanted[kind]]))
    # The first link turns about a fixed axis, like its rotor.
    alternatives = values['rotor inertia', 'panda_joint1'].alternatives
    assert ('inertia', 'panda_link1') in {(c.kind, c.place) for c in alternatives}
    shown = text(found)
    assert '    or panda_link1: wrong mass, centre of mass or inertia tensor' in shown
    (line,) = (line for line in shown.splitlines() if 'underestimates dry friction: ' in line)
    assert all(name in line for name in NAMES)
    sizes = [cause.size for cause in found.causes]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_friction_at_low_speed_is_named():
    t, q, qd, qdd = lively(MODEL, rate=RATE)
    tau = torque(MODEL, q, qd, qdd)
    tau[:, 3] += 2.0 * np.tanh(qd[:, 3] / 0.01) * np.exp(-((qd[:, 3] / 0.1) ** 2))
    tau += NOISE * np.random.default_rng(0).normal(size=tau.shape)
    found = evaluate(ARM, Recording(NAMES, t, q, qd, tau))
    cause = only_cause(found, 'Stribeck friction', 'panda_joint4')
    assert_close(cause.value, cause.error, np.array([2.0]), relative=0.02)
    assert 'panda_joint4: the model underestimates Stribeck friction by ' in text(found)


def faster(factor, low_speed_friction, seed=0):
    """Return what the robot records on the lively path, faster, with more friction of joint 4."""
    t, q, qd, qdd = lively(MODEL, duration=20 * factor, rate=RATE / factor, seed=seed)
    t, qd, qdd = t / factor, factor * qd, factor**2 * qdd
    tau, v = torque(MODEL, q, qd, qdd), qd[:, 3]
    tau[:, 3] += low_speed_friction * np.tanh(v / 0.01) * np.exp(-((v / 0.1) ** 2))
    rng = np.random.default_rng(seed)
    qd = qd + 0.01 * qd.std(axis=0) * rng.normal(size=qd.shape)
    return Recording(NAMES, t, q, qd, tau + NOISE * rng.normal(size=tau.shape))


@pytest.mark.slow
def test_friction_at_low_speed_is_undetermined_if_the_low_pass_hides_it():
    """Passages through low speed are short in fast motion."""
    cause = ('Stribeck friction', 'panda_joint4')
    assert cause not in evaluate(ARM, faster(1, 0.0)).undetermined
    exact, wrong = faster(3, 0.0), faster(3, 2.0)
    assert cause not in evaluate(ARM, exact).undetermined
    assert cause in evaluate(ARM, exact, cutoff=3.0).undetermined
    only_cause(evaluate(ARM, wrong), *cause)
    hidden = evaluate(ARM, wrong, cutoff=3.0)
    assert hidden.causes == ()
    assert cause in hidden.undetermined
    large = evaluate(ARM, faster(3, 8.0), cutoff=3.0)
    only_cause(large, *cause)
    assert cause not in large.undetermined


@pytest.mark.slow
def test_one_scale_of_all_joints_is_one_cause():
    run = recorded(MODEL)
    run.effort[:] *= 1.1
    found = evaluate(ARM, run)
    cause = only_cause(found, 'scale', '')
    assert_close(cause.value, cause.error, np.array([0.1]))
    assert 'all joints: efforts are 1.' in text(found)


def test_a_small_delay_is_reported():
    found = evaluate(ARM, recorded(MODEL, late=3e-4))
    value, error = found.delay
    assert abs(value - 3e-4) < 5 * error
    assert error < 5e-5
    assert found.causes == ()
    assert 'delay of the efforts: ' in text(found)


@pytest.mark.slow
def test_the_corrected_curve_has_the_causes():
    found = evaluate(ARM, recorded(MODEL.with_payload(LINK, 1.3, [0, 0, 0.1])))
    curves = found.curves
    assert np.allclose(rms(curves.effort - curves.corrected), found.unexplained, rtol=0.05)
    assert (found.unexplained < 0.1).all()


@pytest.mark.slow
def test_undetectable_causes_are_reported():
    """Friction of a joint that hardly moves, below noise of its effort."""
    t, q, qd, qdd = lively(MODEL, rate=RATE)
    q[:, 5], qd[:, 5], qdd[:, 5] = 0.5, 0.0, 0.0
    tau = torque(MODEL, q, qd, qdd) + NOISE * np.random.default_rng(0).normal(size=q.shape)
    found = evaluate(ARM, Recording(NAMES, t, q, qd, tau))
    assert {('dry friction', 'panda_joint6'), ('viscous friction', 'panda_joint6')} <= {
        *found.undetermined
    }
    assert not {place for _, place in found.undetermined} & {'panda_joint2', 'panda_joint4'}
    assert 'errors of 5 % of the effort would not be seen in: dry friction of ' in text(found)


@pytest.mark.parametrize('seed', [0])
@pytest.mark.parametrize('sign', [1, *soak([-1])])
def test_mass_and_position_of_a_payload_are_found(seed, sign):
    mass, com = 1.3, np.array([0.02, 0.01, 0.1])
    heavy = MODEL.with_payload(LINK, mass, com)
    true, arm = (heavy, ARM) if sign > 0 else (MODEL, Dynamics(heavy))
    found = evaluate(arm, recorded(true, seed))
    cause = only_cause(found, 'load', LINK)
    assert_close(cause.value, cause.error, np.array([sign * mass, *com]), relative=0.01)
    what = 'payload missing from the model' if sign > 0 else 'mass in excess in the model'
    said = re.search(rf'{LINK}: {what}, (\S+) ± \S+ kg at \(0.02', text(found))
    assert float(said[1]) == pytest.approx(mass, rel=0.01)


@pytest.mark.slow
def test_a_payload_and_friction_are_separated():
    true = MODEL.with_actuation(coulomb=[3, 3, 3, 4.9, 3, 3, 3]).with_payload(
        LINK, 1.3, [0, 0, 0.1]
    )
    found = evaluate(ARM, recorded(true))
    assert [cause.kind for cause in found.causes] == ['load', 'dry friction']
    load, friction = found.causes
    # A mass on the axis of the last joint may also be part of the link before it.
    assert [(c.kind, c.place) for c in load.alternatives] == [('inertia', 'panda_link6')]
    assert_close(load.value, load.error, np.array([1.3, 0, 0, 0.1]), relative=0.01)
    assert_close(friction.value, friction.error, np.array([1.9]))


def nearly(model, seed):
    """Return a robot with links and scales off by 1 to 2 %, as of an identified model."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], model.n) * rng.uniform(0.01, 0.02, model.n)
    return HardwareProfile(model_error=(0.01, 0.02)).actual(model, seed), 1 + signs


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(3))
def test_a_payload_of_a_nearly_exact_model_is_named_with_the_link_that_explains_as_much(seed):
    mass, com = 0.8, np.array([0.0, 0.0, 0.1])
    true, scale = nearly(MODEL, seed)
    found = evaluate(ARM, recorded(true.with_payload(LINK, mass, com), seed, scale=scale))
    links = [cause for cause in found.causes if cause.kind in ('load', 'inertia')]
    assert len(links) == 1, text(found)
    either = {(c.kind, c.place): c for c in (links[0], *links[0].alternatives)}
    assert either.keys() == {('load', LINK), ('inertia', 'panda_link6')}, text(found)
    load = either['load', LINK]
    assert (np.abs(load.value - [mass, *com]) < 3 * load.error).all(), text(found)
    assert load.error[0] < 0.15
    other = either['inertia', 'panda_link6']
    assert abs(other.value[0] - mass) < 3 * other.error[0], text(found)


def test_an_unknown_load_link_is_rejected():
    with pytest.raises(FrameNotFound, match='toool'):
        evaluate(ARM, recorded(MODEL), load_link='toool')


@pytest.mark.slow
def test_a_tilted_base_is_found():
    gravity = np.array([0.0, 4.905, -8.496])
    found = evaluate(ARM, recorded(MODEL.with_gravity(gravity)))
    cause = only_cause(found, 'gravity')
    assert_close(MODEL.gravity + cause.value, cause.error, gravity)
    assert re.search(r'gravity is \(-?0.00', text(found))
    assert 'check the mounting of the base' in text(found)


@pytest.mark.slow
def test_efforts_without_gravity_are_found_and_can_be_given():
    weightless = recorded(MODEL.with_gravity([0, 0, 0]))
    found = evaluate(ARM, weightless)
    only_cause(found, 'gravity')
    assert 'set effort_gravity_compensated to true' in text(found)
    given = evaluate(ARM, weightless, effort_gravity_compensated=True)
    assert given.causes == ()
    assert (given.explained > 0.999).all()


@pytest.mark.slow
@pytest.mark.parametrize('sign', [1, -1])
def test_efforts_with_gravity_are_found_where_none_is_expected(sign):
    limits = (MODEL.lower, MODEL.upper) if sign > 0 else (-MODEL.upper, -MODEL.lower)
    model = replace(MODEL, S=sign * MODEL.S, lower=limits[0], upper=limits[1])
    run = recorded(model, model=model)
    found = evaluate(Dynamics(model), run, effort_gravity_compensated=True)
    cause = only_cause(found, 'gravity')
    assert_close(cause.value, cause.error, MODEL.gravity)
    assert 'set gravity to it, and effort_gravity_compensated to false' in text(found)


@pytest.mark.slow
def test_efforts_in_another_unit_are_found_and_can_be_given():
    scale = np.array([1, 1, 1 / 1.15, 1, 1, 1, 1])
    currents = recorded(MODEL, scale=scale)
    cause = only_cause(evaluate(ARM, currents), 'scale', 'panda_joint3')
    assert_close(1 + cause.value, cause.error, np.array([1.15]))
    assert 'multiply effort_scale by 0.8' in text(evaluate(ARM, currents))
    assert evaluate(ARM, currents, effort_scale=scale).causes == ()


@pytest.mark.slow
def test_every_figure_is_in_units_of_the_scaled_effort():
    """Currents of either sign, times their scale, are the efforts."""
    scale = np.array([2.0, -0.5, 30.0, 1.0, -7.0, 0.1, 4.0])
    true = MODEL.with_actuation(coulomb=[3, 3, 3, 4.9, 3, 3, 3])
    plain, scaled = recorded(true), recorded(true, scale=scale)
    assert np.allclose(scaled.effort * scale, plain.effort)
    one, other = evaluate(ARM, plain), evaluate(ARM, scaled, effort_scale=scale)
    assert (one.removed > 0).all()
    figures = (
        'rms_effort',
        'rms_residual',
        'largest',
        'bias',
        'explained',
        'removed',
        'unexplained',
    )
    for figure in figures:
        assert np.allclose(getattr(one, figure), getattr(other, figure), rtol=1e-6), figure
    causes = [(c.kind, c.place, c.joint) for c in one.causes]
    assert causes == [(c.kind, c.place, c.joint) for c in other.causes]
    for c, d in zip(one.causes, other.causes, strict=True):
        assert np.allclose([*c.value, *c.error, c.size], [*d.value, *d.error, d.size], rtol=1e-5)


@pytest.mark.parametrize('size', [1e200, -1e200])
def test_efforts_too_large_to_compare_are_rejected_by_joint(size):
    run = recorded(MODEL)
    scale = np.ones(7)
    scale[4] = size
    with pytest.raises(RecordingError, match=r'panda_joint5: efforts up to .* -?1e\+200'):
        evaluate(ARM, run, effort_scale=scale)


@pytest.mark.slow
@pytest.mark.parametrize(('error', 'named'), [(0.05, False), (0.01, True)])
@pytest.mark.parametrize('offset', [0.1, *slow([-0.1])])
def test_an_offset_within_the_stated_error_of_the_model_is_no_cause(offset, error, named):
    run = recorded(MODEL, noise=0.02)
    run.effort[:, 5] += offset
    drives = Drives(errors={'effort_offset': np.full(7, error), 'rotor_inertia': np.full(7, 1.0)})
    found = evaluate(ARM, run, drives=drives)
    assert [cause.kind for cause in found.causes] == ['offset'] * named, text(found)
    assert not found.doubtful


@pytest.mark.parametrize('offset', [0.9, -0.9])
def test_an_offset_of_a_sensor_is_found(offset):
    run = recorded(MODEL)
    run.effort[:, 5] += offset
    found = evaluate(ARM, run)
    cause = only_cause(found, 'offset', 'panda_joint6')
    assert_close(cause.value, cause.error, np.array([offset]))
    assert found.bias[5] == pytest.approx(offset, abs=0.02)
    assert (found.largest >= found.rms_residual).all()
    assert 'constant offset of the efforts, ' in text(found)


@pytest.mark.slow
@pytest.mark.parametrize('late', [0.004, -0.004])
def test_a_delay_of_efforts_is_found(late):
    found = evaluate(ARM, recorded(MODEL, late=late))
    cause = only_cause(found, 'delay')
    assert_close(cause.value, cause.error, np.array([late]), relative=0.03)
    assert f'ms {"later" if late > 0 else "earlier"} than the motion' in text(found)


@pytest.mark.slow
def test_velocities_are_not_needed():
    run = recorded(MODEL.with_actuation(coulomb=[3, 3, 3, 4.9, 3, 3, 3]))
    found = evaluate(ARM, Recording(run.joint_names, run.t, run.q, None, run.effort))
    cause = only_cause(found, 'dry friction', 'panda_joint4')
    assert_close(cause.value, cause.error, np.array([1.9]))


@pytest.mark.slow
def test_gaps_make_no_difference():
    run = recorded(MODEL.with_actuation(viscous=[2, 2, 2, 3.5, 2, 2, 2]))
    kept = ~((run.t > 5) & (run.t < 5.5)) & ~((run.t > 9) & (run.t < 12))
    some = Recording(run.joint_names, *(x[kept] for x in (run.t, run.q, run.qd, run.effort)))
    found = evaluate(ARM, some)
    assert found.stretches == 3
    ends = found.left_out['at the ends of stretches']
    assert len(found.curves.t) + ends == pytest.approx(kept.sum(), abs=3)
    cause = only_cause(found, 'viscous friction', 'panda_joint4')
    assert_close(cause.value, cause.error, np.array([1.5]))
    assert (found.rms_residual[:3] < 0.15).all()


@pytest.mark.slow
def test_friction_of_a_joint_at_rest_is_not_determined():
    run = recorded(MODEL)
    t, q, qd, qdd = lively(MODEL, rate=RATE)
    q[:, 3], qd[:, 3], qdd[:, 3] = -1.5, 0.0, 0.0
    tau = torque(MODEL, q, qd, qdd)
    # Dry friction of a joint at rest takes any value up to its size.
    tau[:, 3] += 2.5 * np.sin(0.3 * t)
    noise = NOISE * np.random.default_rng(0).normal(size=q.shape)
    found = evaluate(ARM, Recording(NAMES, t, q, qd, tau + noise))
    assert found.moving[3] == 0
    assert (np.delete(found.moving, 3) > 0.9).all()
    kinds = {cause.kind for cause in found.causes if cause.place == 'panda_joint4'}
    assert not kinds & {'dry friction', 'viscous friction', 'rotor inertia'}
    assert run.joint_names == NAMES


def test_prismatic_joints_are_reported_in_their_units():
    model = load_urdf(share_file('urdf/scara_rrp.urdf'))
    assert not model.revolute.all()
    j = int(np.flatnonzero(~model.revolute)[0])
    model = replace(model, lower=model.lower - 1.0, upper=model.upper + 1.0)  # room for the motion
    more = model.coulomb.copy()
    more[j] += 4.0
    run = recorded(model.with_actuation(coulomb=more), model=model)
    found = evaluate(Dynamics(model), run)
    assert found.units[j] == 'N'
    cause = only_cause(found, 'dry friction', model.joint_names[j])
    assert_close(cause.value, cause.error, np.array([4.0]))
    assert 'the model underestimates dry friction by ' in text(found)


@pytest.mark.parametrize(
    ('scale', 'message'),
    [
        (np.nan, 'effort_scale is .*nan'),
        ([1, 1, 1, 0, 1, 1, 1], 'expected finite numbers other than 0'),
    ],
)
def test_a_wrong_scale_is_rejected(scale, message):
    with pytest.raises(RecordingError, match=message):
        evaluate(ARM, recorded(MODEL), effort_scale=scale)


def test_a_scale_is_one_number_or_one_for_each_joint():
    with pytest.raises(ShapeError, match='effort_scale has 2 values; expected one, or 7 for'):
        evaluate(ARM, recorded(MODEL), effort_scale=[1.0, 2.0])


def test_joints_in_another_order_are_rejected():
    run = recorded(MODEL)
    turned = Recording(NAMES[::-1], run.t, run.q, run.qd, run.effort)
    with pytest.raises(RecordingError, match='the recording is of panda_joint7, panda_joint6'):
        evaluate(ARM, turned)


@pytest.mark.slow
def test_another_robot_explains_nothing():
    t, q, qd, qdd = lively(MODEL, 10.0, RATE)
    run = Recording(NAMES, t, q, qd, -torque(MODEL, q, qd, qdd))
    assert 'nothing is explained' in text(evaluate(ARM, run))


@pytest.mark.slow
def test_explained_is_a_share_of_the_changes():
    found = evaluate(ARM, recorded(MODEL.with_payload(LINK, 2.0)))
    effort, residual = found.curves.effort, found.curves.residual
    wanted = 1 - rms(residual) ** 2 / effort.var(axis=0)
    assert np.allclose(found.explained, wanted)
    assert np.allclose(found.rms_residual, rms(effort - found.curves.model))
    assert np.allclose(found.largest, np.abs(residual).max(axis=0))


@pytest.mark.slow
def test_correlations_are_those_with_the_motion():
    run = recorded(MODEL.with_actuation(coulomb=[3, 3, 3, 4.9, 3, 3, 3]))
    found = evaluate(ARM, run)
    curves = found.curves
    others = {
        'gravity': ARM.gravity_torque(curves.q),
        'dry friction': np.tanh(curves.qd / 1e-2),
        'viscous friction': curves.qd,
        'rotor inertia': curves.qdd,
    }
    assert found.correlations.keys() == others.keys()
    for name, other in others.items():
        for j in range(1, MODEL.n):
            wanted = np.corrcoef(curves.residual[:, j], other[:, j])[0, 1]
            assert found.correlations[name][j] == pytest.approx(wanted, abs=0.1)
    # The first joint is vertical.
    assert np.isnan(found.correlations['gravity'][0])
    assert found.correlations['dry friction'][3] > 0.99


def standing(effort, noise=NOISE):
    """Return the recording of an arm that stands still, with efforts added to its own."""
    t = np.arange(0, 5, 1 / RATE)
    q = np.full((len(t), MODEL.n), 0.3)
    tau = torque(MODEL, q, 0 * q, 0 * q) + noise * np.random.default_rng(0).normal(size=q.shape)
    return Recording(NAMES, t, q, 0 * q, tau + effort)


def test_one_posture_has_no_causes():
    found = evaluate(ARM, standing(1.0))
    assert (found.searched, found.causes) == (False, ())
    assert np.allclose(found.bias, 1.0, atol=0.02)
    assert np.allclose(found.unexplained, found.rms_residual, rtol=0.1)
    assert 'not determined by this recording: joints hardly move' in text(found)


def test_an_effort_that_does_not_change_has_no_explained_share():
    found = evaluate(ARM, standing(0.0, noise=0.0))
    assert np.isnan(found.explained).all()
    assert ' - ' in text(found)


def test_joints_whose_efforts_are_not_measured_are_no_cause():
    run = recorded(MODEL)
    run.effort[:, 1] = 0.0
    assert evaluate(ARM, run).causes == ()


def test_a_single_joint_does_not_distinguish_mass_and_distance():
    """One joint determines m r and its inertia only."""
    model = load_urdf(share_file('urdf/planar_2r.urdf'), tip_link='link1')
    rng = np.random.default_rng(0)
    t, q, qd, qdd = lively(model, rate=RATE)
    tau = torque(model.with_payload('link1', 1.0, [0.2, 0, 0]), q, qd, qdd)
    tau += 0.01 * rng.normal(size=tau.shape)
    found = evaluate(Dynamics(model), Recording(model.joint_names, t, q, qd, tau))
    cause = only_cause(found, 'centre of mass', 'link1')
    assert_close(cause.value, cause.error, np.array([0.2, 0.0, 0.0]))


@pytest.mark.slow
def test_a_wrong_centre_of_mass_has_no_mass():
    heavy = MODEL.with_payload(LINK, 2.0, [0.05, 0.0, 0.1], 0.02 * np.eye(3))
    moved = MODEL.with_payload(LINK, 2.0, [0.05, 0.06, 0.1], 0.02 * np.eye(3))
    found = evaluate(Dynamics(heavy), recorded(moved))
    cause = only_cause(found, 'centre of mass', LINK)
    assert_close(cause.value, cause.error, np.array([0, 0.12, 0]))
    assert 'error of mass times centre of mass, (' in text(found)


@pytest.mark.slow
def test_states_published_more_often_than_measured_count_once():
    t, q, qd, qdd = lively(MODEL, rate=RATE)
    tau = torque(MODEL.with_actuation(viscous=[2, 2, 2, 3.5, 2, 2, 2]), q, qd, qdd)
    tau += NOISE * np.random.default_rng(0).normal(size=tau.shape)
    measured = np.arange(len(t)) // 4 * 4
    published = by_joint(samples(NAMES, t, q[measured], qd[measured], tau[measured]), NAMES)
    assert len(published.t) == len(t) / 4
    found = evaluate(ARM, published)
    assert found.rate == pytest.approx(RATE / 4)
    cause = only_cause(found, 'viscous friction', 'panda_joint4')
    assert_close(cause.value, cause.error, np.array([1.5]))
